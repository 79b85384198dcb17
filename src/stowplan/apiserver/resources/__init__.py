"""Which kinds are served, under which names, with which verbs: built-in kinds as data, custom kinds at run time."""
