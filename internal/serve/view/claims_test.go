package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryCheckHasASentence reads the names of checks from the source of the packages that make certificates.
func TestEveryCheckHasASentence(t *testing.T) {
	found := 0
	for _, dir := range []string{"proof", "instances"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "certify", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, name := range spec.Names {
					if !strings.HasPrefix(name.Name, "Check") || i >= len(spec.Values) {
						continue
					}
					literal, ok := spec.Values[i].(*ast.BasicLit)
					if !ok {
						continue
					}
					value, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					found++
					if claims[value] == "" {
						t.Errorf("%s: the check %s has no sentence", file, value)
					}
				}
				return true
			})
		}
	}
	if found < len(claims) {
		t.Errorf("%d checks were found, and %d have sentences", found, len(claims))
	}
}
