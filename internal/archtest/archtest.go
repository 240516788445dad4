package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"sort"
	"strconv"
	"strings"
)

// rank orders the rooms: a room imports only rooms of a lower rank. Rooms of one
// rank do not import each other. A room is the first element of a path.
var rank = map[string]int{
	"unit": 0, "packet": 1, "scheme": 1, "topology": 2, "workload": 2, "telemetry": 2,
	"trace": 3, "cc": 4, "dataplane": 4, "transport": 5, "fabric": 5,
	"hpcc": 5, "ncf": 5, "p4te": 5, "p4abc": 5,
	"sim": 6, "lab": 6, "experiment": 7, "report": 8, "web": 8, "bench": 8, "cmd": 9, "internal": 9,
}

// pureBelow is the rank from which on rooms may have clocks, files and goroutines;
// sim itself is pure too.
const pureBelow = 6

// narrow are rooms that may import only these, whatever the ranks say.
var narrow = map[string][]string{"topology": {"unit", "packet"}, "workload": {"unit", "packet"}}

// thirdParty are the rooms that may import modules of others.
var thirdParty = map[string]bool{"lab": true, "experiment": true, "report": true, "web": true, "bench": true, "cmd": true}

// forbidden are the standard library's packages that a pure room must not import.
var forbidden = map[string]bool{
	"time": true, "sync": true, "sync/atomic": true, "os": true, "os/signal": true, "os/exec": true, "net": true, "net/http": true, "log": true,
	"log/slog": true, "math/rand": true, "runtime": true, "unsafe": true, "context": true, "io/ioutil": true, "syscall": true,
}

// randTypes are the names of math/rand/v2 that do not touch its global source.
var randTypes = map[string]bool{"Rand": true, "PCG": true, "New": true, "NewPCG": true, "Source": true}

// room returns the room of a package path below the module, "" for the module's
// own root.
func room(path string) string {
	r, _, _ := strings.Cut(strings.TrimPrefix(path, "weir/"), "/")
	return r
}

// pure tells whether the rules of pure rooms hold for a package.
func pure(path string) bool {
	r := room(path)
	return rank[r] < pureBelow && r != "internal" || r == "sim"
}

// Check returns what a file of the package violates.
func Check(fset *token.FileSet, path string, f *ast.File) []string {
	var out []string
	report := func(pos token.Pos, format string, args ...any) {
		p := fset.Position(pos)
		out = append(out, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
	}
	from := room(path)
	own, known := rank[from]
	if !known {
		report(f.Package, "room %q is not in archtest's table", from)
		return out
	}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(p, "/")
		switch {
		case first == "weir":
			to := room(p)
			r, ok := rank[to]
			allowed := narrow[from]
			switch {
			case !ok:
				report(i.Pos(), "%s imports %s, a room that is not in archtest's table", path, p)
			case to == from:
			case from == "internal" || to == "internal":
				report(i.Pos(), "%s imports %s; internal rooms are for tests", path, p)
			case r >= own:
				report(i.Pos(), "%s imports %s, which is not to its left", path, p)
			case allowed != nil && !contains(allowed, to):
				report(i.Pos(), "%s imports %s; it may import %v", path, p, allowed)
			}
		case strings.Contains(first, "."):
			if !thirdParty[from] {
				report(i.Pos(), "%s imports %s; only %v may use modules of others", path, p, keys(thirdParty))
			}
		case pure(path) && forbidden[p] && !(p == "time" && from == "unit"):
			report(i.Pos(), "%s imports %s; it is a pure room", path, p)
		}
	}
	if !pure(path) {
		return out
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "%s starts a goroutine; it is a pure room", path)
		case *ast.ChanType:
			report(n.Pos(), "%s uses a channel; it is a pure room", path)
		case *ast.SelectStmt:
			report(n.Pos(), "%s uses select; it is a pure room", path)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "rand" && x.Obj == nil && !randTypes[n.Sel.Name] {
				report(n.Pos(), "%s uses rand.%s, the global source; it is a pure room", path, n.Sel.Name)
			}
		}
		return true
	})
	return out
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
