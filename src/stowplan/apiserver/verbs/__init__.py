"""One file per verb: a plain function from a Call to an Answer."""
