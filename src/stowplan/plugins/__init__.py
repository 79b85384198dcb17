"""One file or folder per plugin, and default_order.py. A plugin never imports another plugin."""
