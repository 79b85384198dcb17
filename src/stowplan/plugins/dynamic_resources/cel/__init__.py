"""The expression language of device selectors: checked by a CEL package, evaluated here with upstream's cost limit."""
