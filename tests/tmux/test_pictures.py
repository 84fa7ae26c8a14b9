"""The recording of a terminal in the README: frames of text become an animated SVG."""

from xml.etree import ElementTree

from fixtures.pictures import Frame, draw

SVG = "{http://www.w3.org/2000/svg}"


def test_frames_become_a_picture() -> None:
    """Each frame is a group of its lines, with escaped text, colours, and its share of the time."""
    frames = [
        Frame(("plain", "", "\x1b[1;31mred <b>\x1b[0m & more"), 1.0),
        Frame(("\x1b[92mgreen\x1b[39m end",), 3.0),
    ]
    root = ElementTree.fromstring(draw(frames, "git worker run 'a & b'"))
    first, second = root.findall(f"{SVG}g")
    lines = first.findall(f"{SVG}text")
    assert ["".join(line.itertext()) for line in lines] == ["plain", "red <b> & more"]
    assert float(lines[1].attrib["y"]) - float(lines[0].attrib["y"]) == 36
    red, rest = lines[1]
    assert red.attrib == {"fill": "#ff7b72", "font-weight": "bold"}
    assert rest.attrib == {}
    (green,) = second.findall(f"{SVG}text")
    assert [part.attrib for part in green] == [{"fill": "#7ee787"}, {}]
    style = root.findtext(f"{SVG}style") or ""
    assert "25.00%{visibility:hidden}" in style
    assert root.findtext(f"{SVG}title") == "git worker run 'a & b'"
