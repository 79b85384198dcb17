"""What this room raises."""


class ConfigError(ValueError):
    """Raised when a configuration cannot be used: the file, then the fault in kube-scheduler's words."""

    def __init__(self, filename: str, text: str) -> None:
        super().__init__(f"{filename}: {text}")
        self.filename = filename
        self.text = text


class DocumentError(ValueError):
    """Raised when bytes are neither YAML nor JSON; the text names the line."""


class DecodeError(ValueError):
    """Raised when a value does not have the type of its field."""


class PluginsError(ValueError):
    """Raised when the plugins a profile names cannot be put together."""
