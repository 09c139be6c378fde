"""A page read back: its elements, as a browser's parser would hand them to a script."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "link", "br", "hr", "img"}


@dataclass
class Node:
    tag: str
    attributes: dict
    parent: "Node | None" = None
    text: str = ""
    children: list = field(default_factory=list)

    def all(self, tag=None):
        """This element's descendants in the order of the page."""
        for child in self.children:
            if tag in (None, child.tag):
                yield child
            yield from child.all(tag)

    def first(self, tag):
        return next(self.all(tag), None)

    def inner_text(self):
        return self.text + "".join(child.inner_text() for child in self.children)


class Parser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = self.here = Node("root", {})

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs), self.here)
        self.here.children.append(node)
        if tag not in VOID:
            self.here = node

    def handle_endtag(self, tag):
        assert self.here.tag == tag, f"</{tag}> closes <{self.here.tag}>"
        self.here = self.here.parent

    def handle_data(self, data):
        self.here.text += data


def parse(html):
    """Read a page; an element that is not closed where it should be is an error."""
    parser = Parser()
    parser.feed(html)
    parser.close()
    assert parser.here is parser.root, f"<{parser.here.tag}> is never closed"
    return parser.root
