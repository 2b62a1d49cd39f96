package seatrial_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/seatrial/seatrial/"

// layout is the table of ARCHITECTURE.md: the packages in the order of the data's path, and what each may import of the
// others. A package imports only packages above it, and only those named.
var layout = []struct {
	name    string
	imports string
}{
	{"diag", ""},
	{"schema", ""},
	{"sqlast", "diag schema"},
	{"corpus/demo", ""},
	{"corpus", "corpus/demo diag schema"},
	{"universe", ""},
	{"command", "universe"},
	{"embedding", "universe"},
	{"callcheck", "diag universe"},
	{"catalogue", "callcheck diag universe"},
	{"openapi", "universe"},
	{"relation", "universe"},
	{"search", "embedding universe"},
	{"database", "schema universe"},
	{"compile", "corpus database diag relation schema sqlast universe"},
	{"witness", "database schema sqlast universe"},
	{"related", "compile schema sqlast universe witness"},
	{"synthesize", "database schema sqlast universe witness"},
	{"condition", "diag search universe"},
	{"request", "compile schema sqlast universe"},
	{"transcript", "universe"},
	{"suite", "condition embedding transcript universe"},
	{"derive", "condition suite universe"},
	{"environment", "condition database relation transcript universe"},
	{"twin", "database embedding environment schema sqlast suite universe witness"},
	{"interpreter", ""},
	{"model", "diag universe"},
	{"model/modeltest", "model universe"},
	{"agent", "diag interpreter model transcript universe"},
	{"episode", "condition embedding environment relation search suite transcript universe"},
	{"grade", "callcheck transcript universe"},
	{"verify", "agent callcheck compile condition database derive diag embedding environment episode grade related relation request schema sqlast suite transcript twin universe witness"},
	{"build", "callcheck catalogue compile condition corpus database derive diag embedding environment episode openapi related relation request schema search sqlast suite synthesize twin universe verify witness"},
	{"audit", "build compile corpus database diag schema sqlast universe verify witness"},
	{"report", "condition diag grade suite transcript universe"},
	{"server", "condition environment episode grade openapi suite transcript universe"},
	{"proxy", "condition diag universe"},
	{"cli", "*"},
}

// forbidden are modules that no file may import, with the reason.
var forbidden = map[string]string{
	"github.com/mattn/go-sqlite3": "it needs cgo; `go run` must work on a machine that has only Go",
	"C":                           "it needs cgo; `go run` must work on a machine that has only Go",
}

func TestImportsFollowTheLayout(t *testing.T) {
	known := map[string]bool{}
	for i, row := range layout {
		known[row.name] = true
		allowed := map[string]bool{}
		for _, name := range strings.Fields(row.imports) {
			at := slices.IndexFunc(layout, func(r struct{ name, imports string }) bool { return r.name == name })
			if name != "*" && (at < 0 || at >= i) {
				t.Errorf("the table lets %s import %s, which does not stand above it", row.name, name)
			}
			allowed[name] = true
		}
		for file, imports := range parseImports(t, filepath.Join("internal", filepath.FromSlash(row.name))) {
			for _, path := range imports {
				if reason, bad := forbidden[path]; bad {
					t.Errorf("%s imports %s: %s", file, path, reason)
				}
				name, own := strings.CutPrefix(path, module+"internal/")
				if own && !allowed["*"] && !allowed[name] {
					t.Errorf("%s imports %s, which the table does not allow", file, name)
				}
			}
		}
	}
	for _, dir := range packageDirs(t) {
		if name := filepath.ToSlash(strings.TrimPrefix(dir, "internal"+string(filepath.Separator))); !known[name] {
			t.Errorf("package %s stands in no row of the table", name)
		}
	}
}

// TestTheDocumentNamesEveryPackage keeps ARCHITECTURE.md and the table together.
func TestTheDocumentNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range layout {
		if strings.Contains(row.name, "/") {
			continue
		}
		imports := strings.Join(strings.Fields(row.imports), ", ")
		switch imports {
		case "":
			imports = "–"
		case "*":
			imports = "all"
		}
		found := false
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, "|")
			if len(cells) == 5 && strings.TrimSpace(cells[1]) == "`"+row.name+"`" {
				found = true
				if got := strings.TrimSpace(cells[3]); got != imports {
					t.Errorf("ARCHITECTURE.md lets %s import %q, the table %q", row.name, got, imports)
				}
			}
		}
		if !found {
			t.Errorf("ARCHITECTURE.md has no row for %s", row.name)
		}
		if !strings.Contains(string(text), "### `"+row.name+"`") {
			t.Errorf("ARCHITECTURE.md has no section for %s", row.name)
		}
	}
}

// TestEveryPackageHasOneComment checks that exactly one file of each package says what it is for and what it must never
// know.
func TestEveryPackageHasOneComment(t *testing.T) {
	for _, dir := range append(packageDirs(t), filepath.Join("cmd", "seatrial")) {
		var documented []string
		for _, file := range goFiles(t, dir) {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				documented = append(documented, file)
				text := f.Doc.Text()
				if f.Name.Name != "main" && !strings.Contains(text, "must never") && !strings.Contains(text, "never ") {
					t.Errorf("%s: the comment of package %s does not say what it must never know", file, f.Name.Name)
				}
			}
		}
		if len(documented) != 1 {
			t.Errorf("%s: %d files hold a package comment, want one: %v", dir, len(documented), documented)
		}
	}
}

// TestPublicNamesAreDocumented checks that every exported function, type and method has a comment.
func TestPublicNamesAreDocumented(t *testing.T) {
	for _, dir := range packageDirs(t) {
		for _, file := range goFiles(t, dir) {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil && !conventional[d.Name.Name] {
						t.Errorf("%s: %s has no comment", set.Position(d.Pos()), d.Name.Name)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
							t.Errorf("%s: type %s has no comment", set.Position(ts.Pos()), ts.Name.Name)
						}
					}
				}
			}
		}
	}
}

// conventional names mean the same everywhere.
var conventional = map[string]bool{"Error": true, "Unwrap": true, "String": true, "MarshalJSON": true, "UnmarshalJSON": true}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	e := d.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}

func parseImports(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, file := range goFiles(t, dir) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = nil
		for _, im := range f.Imports {
			path, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			out[file] = append(out[file], path)
		}
	}
	if len(out) == 0 {
		t.Errorf("the table names %s, which holds no Go files", dir)
	}
	return out
}

// goFiles lists the files of a package, tests apart.
func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

func packageDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if d.IsDir() && len(goFiles(t, path)) > 0 {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
