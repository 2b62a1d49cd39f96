package table

import "github.com/seatrial/seatrial/internal/diag"

// The formats of a document.
const (
	FormatText     = "text"
	FormatMarkdown = "markdown"
	FormatCSV      = "csv"
	FormatJSON     = "json"
)

// Formats lists the formats of a document.
func Formats() []string { return []string{FormatText, FormatMarkdown, FormatCSV, FormatJSON} }

// Document is what can be written in every format, such as a table.
type Document interface {
	Text(Terminal) string
	Markdown() string
	CSV() (string, error)
	JSON() ([]byte, error)
}

// Write writes a document in a format. Only text depends on the terminal.
func Write(d Document, format string, terminal Terminal) (string, error) {
	switch format {
	case FormatText:
		return d.Text(terminal), nil
	case FormatMarkdown:
		return d.Markdown(), nil
	case FormatCSV:
		return d.CSV()
	case FormatJSON:
		text, err := d.JSON()
		return string(text), err
	}
	return "", diag.Unknown("format", format, Formats())
}
