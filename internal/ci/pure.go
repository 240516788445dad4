package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// impureTag is the comment that allows a line of a pure test what checkPure refuses, with the reason.
const impureTag = "//weir:impure "

// wallClock are the functions of package time that read the clock or wait.
var wallClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// impureImports are packages that no pure test needs: they run programs or make what only root can.
var impureImports = []string{"os/exec", "os/signal", "weir/internal/netns", "weir/internal/testutil/realtime",
	"weir/worlds/lab/labtest"}

// checkPure holds tests without a tag to the rules of `go test ./...`: no other program, no root, no fixed
// port, no sleep and no wall clock. Time in a bubble of testing/synctest is not the wall's: in a package whose
// tests have bubbles, helpers may use it.
func checkPure(root string, files []string) error {
	sources := map[string][]byte{}
	bubbles := map[string]bool{} // by folder
	for _, name := range goFiles(files) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		sources[name] = src
		if bytes.Contains(src, []byte(`"testing/synctest"`)) {
			bubbles[path.Dir(name)] = true
		}
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		found, err := impurities(name, sources[name], bubbles[path.Dir(name)])
		if err != nil {
			return err
		}
		wrong = append(wrong, found...)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("tests without a tag must be pure; move the test to a stage, or use testing/synctest:\n%s",
			strings.Join(wrong, "\n"))
	}
	return nil
}

// impurities returns what a test file has that only a stage with a tag may have. It is empty for a file with a tag.
// Where inBubbles is true, the functions of package time use a bubble's clock.
func impurities(name string, src []byte, inBubbles bool) (found []string, err error) {
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
		if p := fset.Position(n.Pos()); !allowed[p.Line] {
			found = append(found, fmt.Sprintf("%v: %s", p, what))
		}
	}
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); slices.Contains(impureImports, path) {
			refuse(i, "imports "+path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch {
		case !inBubbles && isCallOf(call, "time", wallClock...):
			refuse(call, "reads the wall clock or waits for time")
		case isCallOf(call, "await", "Start", "Program"):
			refuse(call, "runs another program")
		case isCallOf(call, "os", "Geteuid", "Getuid", "StartProcess"):
			refuse(call, "depends on the user or runs another program")
		case isCallOf(call, "net", "Listen", "ListenPacket") && !portOfKernel(call):
			refuse(call, "listens on a port that is not the kernel's choice")
		}
		return true
	})
	return found, nil
}

// isCallOf reports whether a call is of a function of a package.
func isCallOf(call *ast.CallExpr, pkg string, names ...string) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, f.Sel.Name) {
		return false
	}
	id, ok := f.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// portOfKernel reports whether the address of net.Listen is a literal with a port of the kernel's choice, or a
// file.
func portOfKernel(call *ast.CallExpr) bool {
	if len(call.Args) != 2 {
		return false
	}
	if network, ok := call.Args[0].(*ast.BasicLit); ok && network.Value == `"unix"` {
		return true // its address is a file
	}
	address, ok := call.Args[1].(*ast.BasicLit)
	return ok && strings.HasSuffix(address.Value, `:0"`)
}
