"""Removes metadata from JPEG files: places, cameras, names, previews, and any bytes after the picture."""

START, END, SCAN = 0xD8, 0xD9, 0xDA
RESTARTS = range(0xD0, 0xD8)
TABLES = {0xC4, 0xCC, 0xDB, 0xDD}  # of Huffman and arithmetic codes, of quantization, and the interval of restarts
FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
ADOBE = 0xEE  # says how the colours are coded
PICTURE_SEGMENTS = TABLES | FRAMES | {SCAN, ADOBE}


def without_metadata(content: bytes) -> bytes | None:
    """Return a JPEG file with only its tables, frame and scans; None if it does not follow the standard.

    The coded picture is copied, not encoded again, so that it does not change.
    """
    pieces = [b"\xff\xd8"]
    place = 2
    while content[place : place + 1] == b"\xff" and place + 1 < len(content):
        marker = content[place + 1]
        if marker == END:
            return b"".join([*pieces, b"\xff\xd9"])
        length = int.from_bytes(content[place + 2 : place + 4], "big")
        after = place + 2 + length
        if marker == START or length < 2 or after > len(content):
            return None
        if marker == SCAN:  # its header is followed by the coded picture
            after = _end_of_scan(content, after)
        if marker in PICTURE_SEGMENTS:
            pieces.append(content[place:after])
        place = after
    return None


def _end_of_scan(content: bytes, place: int) -> int:
    """Return where the marker after a coded picture begins; zeros and restarts after 0xFF belong to the picture."""
    place = content.find(b"\xff", place)
    while 0 <= place < len(content) - 1 and (content[place + 1] == 0 or content[place + 1] in RESTARTS):
        place = content.find(b"\xff", place + 2)
    return place if place >= 0 else len(content)
