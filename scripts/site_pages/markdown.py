"""Converts Markdown, as the documents and mlir-tblgen write it, to HTML: headings, paragraphs, lists, tables, code, links,
emphasis."""

import html
import re

HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")
ITEM = re.compile(r"^( *)([-*]|\d+\.) +(.*)$")
TABLE_RULE = re.compile(r"^\|?[ :|-]+\|[ :|-]*$")


def slug(text):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]*>|[`*]", "", text).lower())
    return text.strip().replace(" ", "-")


def inline(text, link=lambda target: target):
    """Converts code, links, images and emphasis of one piece of text. `link` maps targets; None makes a link plain
    text."""
    kept = []

    def keep(piece):
        kept.append(piece)
        return f"\0{len(kept) - 1}\0"

    text = re.sub(r"(`+)(.+?)\1", lambda m: keep(f"<code>{html.escape(m[2].strip())}</code>"), text)
    text = html.escape(text, quote=False)
    text = text.replace("&amp;laquo;", "&laquo;").replace("&amp;raquo;", "&raquo;")

    def to_link(match):
        bang, label, target = match.groups()
        mapped = link(target)
        if bang:
            return keep(f'<img src="{html.escape(mapped or target)}" alt="{label}">')
        return keep(f'<a href="{html.escape(mapped)}">') + label + keep("</a>") if mapped else label

    text = re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", to_link, text)
    text = re.sub(r"&lt;(https?://[^\s&]+)&gt;", lambda m: keep(f'<a href="{m[1]}">{m[1]}</a>'), text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"(?<![\w*])\*([^*\s][^*]*?)\*(?![\w*])|(?<!\w)_([^_]+?)_(?!\w)", lambda m: f"<em>{m[1] or m[2]}</em>", text)
    while "\0" in text:
        text = re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], text)
    return text


class Converter:
    """Converts one document, line by line. Afterwards `headings` has (level, text, anchor) of each heading."""

    def __init__(self, link=lambda target: target):
        self.link, self.headings, self.anchors = link, [], set()

    def convert(self, text):
        return self.blocks(re.sub(r"<!--.*?-->", "", text, flags=re.S).splitlines())

    def inline(self, text):
        return inline(text, self.link)

    def blocks(self, lines):
        out, at = [], 0
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                at += 1
                continue
            reader = next(reader for test, reader in self.readers() if test(lines, at))
            piece, at = reader(lines, at)
            out.append(piece)
        return "\n".join(out)

    def readers(self):
        return [(lambda ls, i: ls[i].lstrip().startswith("```"), self.fence),
                (lambda ls, i: ls[i].startswith("    "), self.indented),
                (lambda ls, i: HEADING.match(ls[i]), self.heading),
                (lambda ls, i: ls[i].startswith("|") and i + 1 < len(ls) and TABLE_RULE.match(ls[i + 1]), self.table),
                (lambda ls, i: ITEM.match(ls[i]), self.list),
                (lambda ls, i: ls[i].startswith("<table"), self.raw),
                (lambda ls, i: ls[i].startswith(">"), self.quote),
                (lambda ls, i: True, self.paragraph)]

    def fence(self, lines, at):
        indent = len(lines[at]) - len(lines[at].lstrip())
        end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), len(lines))
        body = "\n".join(line[indent:] for line in lines[at + 1:end])
        return f"<pre><code>{html.escape(body)}</code></pre>", end + 1

    def indented(self, lines, at):
        end = at
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            end += 1
        body = "\n".join(line[4:] for line in lines[at:end]).rstrip()
        return f"<pre><code>{html.escape(body)}</code></pre>", end

    def heading(self, lines, at):
        level, text = HEADING.match(lines[at]).groups()
        anchor = base = slug(text)
        count = 1
        while anchor in self.anchors:
            anchor, count = f"{base}-{count}", count + 1
        self.anchors.add(anchor)
        self.headings.append((len(level), text, anchor))
        return f'<h{len(level)} id="{anchor}">{self.inline(text)}</h{len(level)}>', at + 1

    def table(self, lines, at):
        def cells(line):
            # A bar in code, or after a backslash, does not separate cells.
            line = re.sub(r"`[^`]*`", lambda m: m[0].replace("|", "\1"), line.strip().strip("|")).replace("\\|", "\1")
            return [self.inline(cell.strip().replace("\1", "|")) for cell in line.split("|")]

        end = at
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        head = "".join(f"<th>{cell}</th>" for cell in cells(lines[at]))
        rows = ["".join(f"<td>{cell}</td>" for cell in cells(line)) for line in lines[at + 2:end]]
        return f"<table>\n<tr>{head}</tr>\n" + "\n".join(f"<tr>{row}</tr>" for row in rows) + "\n</table>", end

    def list(self, lines, at):
        indent, marker, _ = ITEM.match(lines[at]).groups()
        tag = "ol" if marker[0].isdigit() else "ul"
        items = []
        while at < len(lines) and (match := ITEM.match(lines[at])) and match[1] == indent:
            body, width = [match[3]], len(lines[at]) - len(match[3])
            at += 1
            while at < len(lines) and self.continues_item(lines, at, len(indent), width):
                body.append(lines[at][min(width, len(lines[at]) - len(lines[at].lstrip())):])
                at += 1
            # An item of a tight list is not a paragraph.
            inner = re.sub(r"^<p>(.*?)</p>", r"\1", self.blocks(body), count=1, flags=re.S)
            items.append(f"<li>{inner}</li>")
            while at < len(lines) and not lines[at].strip() and at + 1 < len(lines) and ITEM.match(lines[at + 1]):
                at += 1
        return f"<{tag}>\n" + "\n".join(items) + f"\n</{tag}>", at

    @staticmethod
    def continues_item(lines, at, indent, width):
        if not lines[at].strip():
            return at + 1 < len(lines) and lines[at + 1].startswith(" " * width)
        return lines[at].startswith(" " * (indent + 1)) and not (
            (match := ITEM.match(lines[at])) and len(match[1]) <= indent)

    def raw(self, lines, at):
        end = next(i for i in range(at, len(lines)) if "</table>" in lines[i]) + 1
        return "\n".join(lines[at:end]), end

    def quote(self, lines, at):
        end = at
        while end < len(lines) and lines[end].startswith(">"):
            end += 1
        return f"<blockquote>{self.blocks([line[1:].removeprefix(' ') for line in lines[at:end]])}</blockquote>", end

    def paragraph(self, lines, at):
        end = at + 1
        while end < len(lines) and lines[end].strip() and not (
                lines[end].lstrip().startswith("```") or HEADING.match(lines[end]) or ITEM.match(lines[end]) or
                lines[end].startswith(("|", "<table"))):
            end += 1
        return f"<p>{self.inline(' '.join(line.strip() for line in lines[at:end]))}</p>", end
