package chart

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// SVG writes the chart as a file of its own, laid out for a width in pixels. It is shown in the reader's colour scheme.
func (c *Chart) SVG(width int) string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + c.svg(float64(width), false, "st-chart", c.Name, CSS())
}

// Figure writes the chart for a page whose style contains [FigureCSS]: a caption, the chart laid out for wide and for
// narrow screens, and its notes.
func (c *Chart) Figure() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<figure class=\"st-figure\" id=\"chart-%s\"><figcaption>%s</figcaption>\n", escape(c.Name),
		escape(c.Title))
	if c.Empty() {
		fmt.Fprintf(&b, "<p>%s</p>\n", escape(c.Lacks))
	} else {
		b.WriteString(c.svg(wideWidth, true, "st-chart st-wide", c.Name+"-wide", ""))
		b.WriteString(c.svg(narrowWidth, true, "st-chart st-narrow", c.Name+"-narrow", ""))
		for _, note := range c.Notes {
			fmt.Fprintf(&b, "<p>%s</p>\n", escape(note))
		}
	}
	b.WriteString("</figure>\n")
	return b.String()
}

// Widths of the two layouts of a figure.
const (
	wideWidth   = 820
	narrowWidth = 320
)

// escape writes a text between tags or in an attribute.
func escape(text string) string { return html.EscapeString(plain(text)) }

func (c *Chart) svg(width float64, bare bool, class, id, style string) string {
	s := c.scene(width, bare)
	var b strings.Builder
	id = escape(id)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %s %s"`, class, number(s.width),
		number(s.height))
	if style != "" {
		fmt.Fprintf(&b, ` width="%s" height="%s"`, number(s.width), number(s.height))
	}
	fmt.Fprintf(&b, " role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n<title id=\"%s-title\">%s</title>\n"+
		"<desc id=\"%s-desc\">%s</desc>\n", id, id, id, escape(c.Title), id, escape(c.words()))
	if style != "" {
		b.WriteString("<style>\n" + html.EscapeString(style) + "</style>\n")
	}
	fmt.Fprintf(&b, "<rect class=\"st-f-paper\" width=\"%s\" height=\"%s\"/>\n", number(s.width), number(s.height))
	for i := range s.items {
		s.items[i].svg(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// number writes a length with at most two digits after the point.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

func (i *item) svg(b *strings.Builder) {
	switch i.kind {
	case kindOpen:
		fmt.Fprintf(b, "<g><title>%s</title>\n", escape(i.text))
	case kindClose:
		b.WriteString("</g>\n")
	case kindText:
		fmt.Fprintf(b, `<text class="st-f-%s" x="%s" y="%s" font-size="%s"`, i.fill, number(i.points[0].x),
			number(i.points[0].y), number(i.size))
		if i.bold {
			b.WriteString(` font-weight="600"`)
		}
		b.WriteString(map[anchor]string{anchorMiddle: ` text-anchor="middle"`, anchorEnd: ` text-anchor="end"`}[i.anchor])
		fmt.Fprintf(b, ">%s</text>\n", escape(i.text))
	case kindCircle:
		fmt.Fprintf(b, "<circle%s cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", i.paint(), number(i.points[0].x),
			number(i.points[0].y), number(i.radius))
	case kindPath:
		var path strings.Builder
		for n, p := range i.points {
			path.WriteString(map[bool]string{true: "M", false: "L"}[n == 0] + number(p.x) + " " + number(p.y))
		}
		if i.closed {
			path.WriteString("Z")
		}
		fmt.Fprintf(b, "<path%s d=\"%s\"/>\n", i.paint(), path.String())
	}
}

// paint writes the attributes of fill and stroke.
func (i *item) paint() string {
	var classes []string
	text := ""
	if i.fill != roleNone {
		classes = append(classes, "st-f-"+string(i.fill))
	} else {
		text += ` fill="none"`
	}
	if i.opacity > 0 {
		text += ` fill-opacity="` + number(i.opacity) + `"`
	}
	if i.stroke != roleNone {
		classes = append(classes, "st-s-"+string(i.stroke))
		text += ` stroke-width="` + number(i.width) + `"`
	}
	if i.dashes != nil {
		list := make([]string, len(i.dashes))
		for n, d := range i.dashes {
			list[n] = number(d)
		}
		text += ` stroke-dasharray="` + strings.Join(list, " ") + `"`
	}
	return ` class="` + strings.Join(classes, " ") + `"` + text
}
