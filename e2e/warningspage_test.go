package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/app"
	"weir/core/scheme"
	"weir/internal/testkit"
)

// warningTests are the packages whose TestWarnings_FireAndStayQuiet test kinds of warnings, by warntest.Row.
var warningTests = []string{"e2e", "app/internal/cli", "study/interop/hpccsim", "study/run", "study/experiment",
	"study/schemelint",
	"worlds/switch", "worlds/switch/control", "worlds/switch/preflight", "worlds/switch/supervisor"}

// TestWarningsPage checks that docs/warnings.md lists every kind of warning with its condition and its two tests.
func TestWarningsPage(t *testing.T) {
	rows := map[string][]string{}
	for _, name := range warningTests {
		for _, id := range warningRows(t, name) {
			rows[id] = append(rows[id], name)
		}
	}
	var b strings.Builder
	b.WriteString("# Warnings\n\nThis page is made from the program: `go test ./e2e -run TestWarningsPage -update` " +
		"writes it.\n\n" +
		"A warning is a line `warning: PLACE: TEXT (IDENTIFIER)` on standard error: something may work otherwise than\n" +
		"its author means. `weir show IDENTIFIER` explains one; pages and reports show it, too. The table has two tests\n" +
		"for each identifier: in `fires` the warning is issued, in `quiet` one value is on the other side of the bound.\n\n" +
		"Conditions are about the values of a file at the start of a run. They leave out rates that events change\n" +
		"(except for `timeout-below-path`) and flows that ECMP hashes onto one link. For a traffic with more than 1000\n" +
		"pairs of hosts, about 1000 of their paths are considered. A port at which data can queue is the narrowest of a\n" +
		"flow's path, or a port to which hosts can together send more than its rate.\n\n" +
		"| identifier | issued when | tests |\n|---|---|---|\n")
	kinds := app.WarningKinds(app.Registry())
	slices.SortFunc(kinds, func(a, b scheme.WarningKind) int { return strings.Compare(a.ID, b.ID) })
	for _, k := range kinds {
		switch at := rows[k.ID]; len(at) {
		case 0:
			t.Errorf("%s has no test", k.ID)
		case 1:
			fmt.Fprintf(&b, "| `%s` | %s | `%s.TestWarnings_FireAndStayQuiet/%s/fires`, `quiet` |\n", k.ID, k.Condition, at[0],
				k.ID)
		default:
			t.Errorf("%s has tests in %v", k.ID, at)
		}
		delete(rows, k.ID)
	}
	for id := range rows {
		t.Errorf("a test is of %s, which is no kind of warning", id)
	}
	testkit.Golden(t, "../../docs/warnings.md", b.String())
}

// warningRows returns the identifiers of a package's rows.
func warningRows(t *testing.T, name string) (ids []string) {
	files, err := filepath.Glob(filepath.Join("..", name, "warnings*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isName := kv.Key.(*ast.Ident)
			value, isText := kv.Value.(*ast.BasicLit)
			if isName && isText && key.Name == "ID" {
				id, _ := strconv.Unquote(value.Value)
				ids = append(ids, id)
			}
			return true
		})
	}
	return ids
}
