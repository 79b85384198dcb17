"""Everything that this room raises."""


class ApiError(Exception):
    """Base of the room's errors."""


class DecodeError(ApiError):
    """Raised when an object cannot be read: the text names the object and the field."""


class UnknownKindError(DecodeError):
    """Raised when an object is of a kind that the scheduler does not read."""


class DocumentError(ApiError):
    """Raised when a file is not well-formed YAML or JSON: the text names file and line."""


class QuantityError(ApiError):
    """Raised when a quantity is malformed."""


class SelectorError(ApiError):
    """Raised when a selector is malformed; the text is upstream's."""
