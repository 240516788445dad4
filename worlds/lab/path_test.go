package lab

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestPacketPath checks that the data plane's packet path runs on one thread without a clock: no goroutine, channel or
// select, no function of package time, sync, os or net, and only maps made at the start (issue "The lab": no goroutine,
// channel or allocation per packet). TestNoAllocationPerPacket checks its allocations.
func TestPacketPath(t *testing.T) {
	for _, name := range []string{"plane.go", "queuewatch.go", "flows.go", "../live/plane.go", "../live/hostport.go",
		"../live/txqueue.go", "../live/departures.go", "../live/bridge.go"} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); slices.Contains([]string{"time", "sync", "sync/atomic", "os", "net",
				"log", "math/rand", "golang.org/x/sys/unix"}, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				what = "a goroutine"
			case *ast.ChanType, *ast.SendStmt:
				what = "a channel"
			case *ast.SelectStmt:
				what = "select"
			case *ast.MapType:
				what = "a map"
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					what = "a channel"
				}
			}
			if what != "" {
				t.Errorf("%v: %s", set.Position(n.Pos()), what)
			}
			return true
		})
	}
}
