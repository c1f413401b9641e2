"""Messages: frames of heist with a header in JSON."""

import json
import struct

# The beginning of a frame: its magic and the lengths of its header and payload.
MAGIC = b"HST1"
PREFIX = struct.Struct("<4sIQ")


def read(messages):
    """The next message, or None if the driver has gone, in the middle of one perhaps."""
    lengths = messages.read(PREFIX.size)
    if len(lengths) < PREFIX.size:
        return None
    _, header_bytes, payload_bytes = PREFIX.unpack(lengths)
    header, payload = messages.read(header_bytes), messages.read(payload_bytes)
    if len(header) < header_bytes or len(payload) < payload_bytes:
        return None
    return json.loads(header), payload


def frame(header, payload=b""):
    return prefix(header, len(payload)) + payload


def prefix(header, payload_bytes):
    header = json.dumps(header).encode()
    return PREFIX.pack(MAGIC, len(header), payload_bytes) + header
