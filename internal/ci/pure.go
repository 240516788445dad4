package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// impureTag is the comment that allows a line of a pure test what checkPure refuses, with the reason.
const impureTag = "//weir:impure "

// synctestPath is the package with bubbles. Time in a bubble is not the wall's.
const synctestPath = "testing/synctest"

// bubbleFolders are folders in which files without bubbles of their own are used in bubbles, with the reason.
var bubbleFolders = map[string]string{
	"study/run/jetstream": "its server and clients for tests are shared by all files, and run in bubbles only",
}

// impureImports are packages that no pure test needs: they run programs or make what only root can.
var impureImports = []string{"os/exec", "os/signal", "weir/internal/netns", "weir/internal/testkit/realtime",
	"weir/internal/testkit/labtest"}

const (
	readsClock   = "reads the wall clock or waits for time"
	runsProgram  = "runs another program"
	dependsOn    = "depends on the user or runs another program"
	choosesPort  = "listens on a port that is not the kernel's choice"
	dialsOutside = "dials a fixed address"
)

// impureNames are what pure tests do not use, by package.
var impureNames = []struct {
	packages []string
	names    []string
	what     string
}{
	{[]string{"time"}, []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		readsClock},
	{[]string{"context"}, []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"}, readsClock},
	{[]string{"os"}, []string{"Getuid", "Geteuid", "Getgid", "Getegid", "StartProcess", "FindProcess", "UserHomeDir",
		"UserCacheDir", "UserConfigDir"}, dependsOn},
	{[]string{"syscall", "golang.org/x/sys/unix"}, []string{"Getuid", "Geteuid", "Getgid", "Getegid", "ForkExec", "Exec",
		"StartProcess", "Kill"}, dependsOn},
	{[]string{"os/user"}, []string{"Current", "Lookup", "LookupId"}, dependsOn},
	{[]string{"net/http"}, []string{"ListenAndServe", "ListenAndServeTLS"}, choosesPort},
	{[]string{"weir/internal/testkit/await"}, []string{"Start", "Program", "BuildProgram"}, runsProgram},
	{[]string{"weir/internal/testkit"}, []string{"TrackedFiles"}, "runs git"},
}

// skips are methods that skip a test. Tests without a tag run everywhere.
var skips = []string{"Skip", "Skipf", "SkipNow"}

// listeners and dialers are functions of package net that need an address of the right kind.
var (
	listeners = []string{"Listen", "ListenPacket", "ListenTCP", "ListenUDP", "ListenIP"}
	dialers   = []string{"Dial", "DialTimeout"}
)

// systemFile matches literals of paths in folders that differ between machines.
var systemFile = regexp.MustCompile("^[\"`]/(etc|proc|sys|home|root|run|var)/")

// checkPure holds tests without a tag to the rules of `go test ./...`: no other program, no root, no fixed
// port, no sleep, no wall clock and no skip.
func checkPure(root string, files []string) error {
	var wrong []string
	err := visitTestFiles(root, files, func(name string, src []byte) error {
		found, err := findImpurities(name, src)
		wrong = append(wrong, found...)
		return err
	})
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("tests without a tag must be pure; move the test to a stage, or use testing/synctest:\n%s",
			strings.Join(wrong, "\n"))
	}
	return nil
}

// findImpurities returns what a test file has that only a stage with a tag may have. It is empty for a file with a tag.
// A file that imports testing/synctest uses the clock of its bubbles.
func findImpurities(name string, src []byte) (found []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || len(stagesOf(file)) > 0 {
		return nil, err
	}
	allowed := map[int]bool{} // lines
	for _, group := range file.Comments {
		for _, c := range group.List {
			if reason, ok := strings.CutPrefix(c.Text, impureTag); ok && strings.TrimSpace(reason) != "" {
				line := fset.Position(c.Pos()).Line
				allowed[line], allowed[line+1] = true, true
			}
		}
	}
	refuse := func(n ast.Node, what string) {
		if p := fset.Position(n.Pos()); what != "" && !allowed[p.Line] {
			found = append(found, fmt.Sprintf("%v: %s", p, what))
		}
	}
	f := pureFile{imports: map[string]string{}, calls: map[*ast.SelectorExpr]*ast.CallExpr{}}
	_, f.inBubbles = bubbleFolders[path.Dir(name)]
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		f.inBubbles = f.inBubbles || imported == synctestPath
		if slices.Contains(impureImports, imported) {
			refuse(i, "imports "+imported)
		}
		local := path.Base(imported)
		if i.Name != nil {
			local = i.Name.Name
		}
		if local == "." {
			refuse(i, "imports "+imported+" without its name")
		}
		f.imports[local] = imported
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				f.calls[s] = n
			}
		case *ast.SelectorExpr:
			refuse(n, f.refusal(n))
		}
		return true
	})
	return found, nil
}

// pureFile is what is known of a file while its selectors are checked.
type pureFile struct {
	imports   map[string]string                   // path by local name
	calls     map[*ast.SelectorExpr]*ast.CallExpr // of functions
	inBubbles bool
}

// refusal returns why a pure test must not use a selector; "": it may.
func (f *pureFile) refusal(s *ast.SelectorExpr) string {
	name := s.Sel.Name
	id, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	imported := f.imports[id.Name]
	if imported == "" && slices.Contains(skips, name) && slices.Contains([]string{"t", "tb", "b", "f"}, id.Name) {
		return "skips"
	}
	if imported == "" && (name == "ListenAndServe" || name == "ListenAndServeTLS") {
		return choosesPort // a method of http.Server
	}
	for _, r := range impureNames {
		if slices.Contains(r.packages, imported) && slices.Contains(r.names, name) &&
			!(f.inBubbles && r.what == readsClock) {
			return r.what
		}
	}
	call := f.calls[s]
	switch {
	case imported == "os" && call != nil && slices.ContainsFunc(call.Args, isSystemFile):
		return "depends on a file of the system"
	case imported != "net":
	case slices.Contains(listeners, name) && (call == nil || !isPortOfKernel(call)):
		return choosesPort
	case slices.Contains(dialers, name) && (call == nil || isFixedAddress(call)):
		return dialsOutside
	}
	return ""
}

// isPortOfKernel reports whether the address of a call of net.Listen or a function like it is nil, a literal with a
// port of the kernel's choice, or a file.
func isPortOfKernel(call *ast.CallExpr) bool {
	if len(call.Args) < 2 {
		return false
	}
	switch address := call.Args[1].(type) {
	case *ast.BasicLit:
		return isUnix(call.Args[0]) || strings.HasSuffix(address.Value, `:0"`)
	case *ast.UnaryExpr:
		literal, ok := address.X.(*ast.CompositeLit)
		return ok && !slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return true // fields without names
			}
			key, _ := field.Key.(*ast.Ident)
			value, _ := field.Value.(*ast.BasicLit)
			return key != nil && key.Name == "Port" && (value == nil || value.Value != "0")
		})
	case *ast.Ident:
		return address.Name == "nil" || isUnix(call.Args[0])
	}
	return isUnix(call.Args[0])
}

// isSystemFile reports whether an argument is a literal path of a file of the system.
func isSystemFile(argument ast.Expr) bool {
	literal, ok := argument.(*ast.BasicLit)
	return ok && systemFile.MatchString(literal.Value)
}

// isFixedAddress reports whether the address of a call of net.Dial is a literal, and not a file. It is true for a call
// with fewer than two arguments.
func isFixedAddress(call *ast.CallExpr) bool {
	if len(call.Args) < 2 || isUnix(call.Args[0]) {
		return len(call.Args) < 2
	}
	_, literal := call.Args[1].(*ast.BasicLit)
	return literal
}

// isUnix reports whether a network is a literal of Unix sockets, which have files as addresses.
func isUnix(network ast.Expr) bool {
	literal, ok := network.(*ast.BasicLit)
	return ok && strings.HasPrefix(literal.Value, `"unix`)
}
