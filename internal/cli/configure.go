package cli

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configure fills the flags that were not given from the configuration file, and from the environment what is then
// still missing.
func (a *app) configure(cmd *cobra.Command) error {
	if err := a.checkEnvironment(cmd.Root()); err != nil {
		return err
	}
	if a.config == "" {
		a.config = a.Getenv("SEATRIAL_CONFIG")
	}
	var section map[string]setting
	if a.config != "" {
		file, err := readConfig(a.config, cmd.Root())
		if err != nil {
			return err
		}
		section = file[cmd.Name()]
	}
	var failure error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if failure != nil || f.Changed || f.Name == "help" || f.Name == "config" {
			return
		}
		if s, ok := section[f.Name]; ok {
			failure = s.apply(cmd, f.Name, a.config)
			return
		}
		variable := variableOf(f)
		if value := a.Getenv(variable); value != "" {
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				failure = diag.Usagef("%s: %s", variable, valueMessage(err))
			}
		}
	})
	return failure
}

const variablePrefix = "SEATRIAL_"

func variableOf(f *pflag.Flag) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// checkEnvironment refuses variables that no command reads: a misspelt one must not be passed over.
func (a *app) checkEnvironment(root *cobra.Command) error {
	if a.Environ == nil {
		return nil
	}
	known := []string{variablePrefix + "SHARED", tokenVariable} // the tests' own, and what no flag may hold
	add := func(f *pflag.Flag) { known = append(known, variableOf(f)) }
	root.PersistentFlags().VisitAll(add)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(add)
	}
	for _, entry := range a.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name) {
			continue
		}
		e := diag.Usagef("unknown variable %s", name)
		if near := diag.Nearest(name, known); near != "" {
			return e.WithHint("did you mean %s?", near)
		}
		return e.WithHint("unset %s: variables are named after flags, such as SEATRIAL_SEED", name)
	}
	return nil
}

// setting is a value of the file with its place; lists give a flag several times.
type setting struct {
	values       []string
	line, column int
}

func (s setting) apply(cmd *cobra.Command, flag, file string) error {
	for _, v := range s.values {
		if err := cmd.Flags().Set(flag, v); err != nil {
			return diag.Usagef("%s: %s", strings.ReplaceAll(flag, "-", "_"), valueMessage(err)).At(file, s.line, s.column)
		}
	}
	return nil
}

// readConfig reads a file of sections, one a command, that hold flags. Unknown sections and flags are errors that name
// the nearest known one.
func readConfig(path string, root *cobra.Command) (map[string]map[string]setting, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.Usagef("the configuration cannot be read: %v", err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil {
			return nil, diag.Usagef("%s", syntax.Message).At(path, syntax.Token.Position.Line, syntax.Token.Position.Column)
		}
		return nil, diag.Usagef("%v", err).At(path, 0, 0)
	}
	out := map[string]map[string]setting{}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		sections, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			return nil, configError(path, doc.Body, "a section a command is expected")
		}
		for _, entry := range sections.Values {
			name := entry.Key.String()
			cmd := commandNamed(root, name)
			if cmd == nil {
				return nil, configUnknown(path, entry.Key, "command", name, commandNames(root))
			}
			flags, ok := entry.Value.(*ast.MappingNode)
			if !ok {
				return nil, configError(path, entry.Value, "section "+name+" must hold flags")
			}
			if out[name], err = readSection(path, cmd, flags); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func readSection(path string, cmd *cobra.Command, node *ast.MappingNode) (map[string]setting, error) {
	section := map[string]setting{}
	var known []string
	collect := func(f *pflag.Flag) { known = append(known, strings.ReplaceAll(f.Name, "-", "_")) }
	cmd.Flags().VisitAll(collect)
	cmd.InheritedFlags().VisitAll(collect)
	for _, entry := range node.Values {
		name := entry.Key.String()
		flag := strings.ReplaceAll(name, "_", "-")
		if f := cmd.Flag(flag); f == nil || strings.Contains(name, "-") {
			return nil, configUnknown(path, entry.Key, "setting", name, known)
		}
		at := entry.Value.GetToken().Position
		s := setting{line: at.Line, column: at.Column}
		switch v := entry.Value.(type) {
		case *ast.SequenceNode:
			for _, item := range v.Values {
				text, ok := scalar(item)
				if !ok {
					return nil, configError(path, item, name+" must be a list of plain values")
				}
				s.values = append(s.values, text)
			}
		default:
			text, ok := scalar(v)
			if !ok {
				return nil, configError(path, v, name+" must be a plain value or a list")
			}
			s.values = []string{text}
		}
		section[flag] = s
	}
	return section, nil
}

// scalar gives a value as it is written, so that 012 stays 012.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

func configError(path string, n ast.Node, message string) error {
	at := n.GetToken().Position
	return diag.Usagef("%s", message).At(path, at.Line, at.Column)
}

func configUnknown(path string, n ast.Node, kind, name string, known []string) error {
	at := n.GetToken().Position
	return diag.Unknown(kind, name, known).At(path, at.Line, at.Column)
}

func commandNamed(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.Runnable() && !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}
