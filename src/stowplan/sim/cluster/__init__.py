"""The simulated machines of `stowplan up`: nodes, kubelets, and the local copies of objects that all of sim shares."""
