package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// threadTests is the prefix of tests that the race detector runs in packages that start no goroutine
// themselves.
const threadTests = "TestThreads"

// raceCommand runs the tests of the stages go and system with the race detector: all tests of packages that start
// goroutines, and of others and of commands only those with the prefix threadTests. Tests of commands run programs that
// are built without the detector. A file that is left out, most for the time that it takes with the detector, has
// `!race` in its build constraint and a comment with the reason after it (see racelessReason).
//
// As root it then runs tests of the stage lab, with real sockets, in packages that start goroutines, except tests that
// judge real time, which the detector changes.
//
// If packages are left out and there is no C compiler, which the detector needs, it runs no test and reports that.
func raceCommand(root string, flags []string) error {
	if os.Getenv(leftOutVariable) != "" {
		if cgo, err := runForOutput(root, "go", "env", "CGO_ENABLED"); err != nil || strings.TrimSpace(cgo) != "1" {
			const text = "race: left out; the race detector needs a C compiler\n"
			fmt.Print(text)
			return errors.Join(err, appendSummary(text))
		}
	}
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	tests, err := findTests(root, files)
	if err != nil {
		return err
	}
	starts, err := startsGoroutines(root, files)
	if err != nil {
		return err
	}
	s := selection{stages: []string{pureStage, "system"}, tests: tests, accept: func(t test) bool {
		return starts[t.folder] || strings.HasPrefix(t.name, threadTests)
	}}
	raced := s.run(root, "race", append([]string{"-race", "-tags", "system"}, flags...))
	if os.Geteuid() != 0 {
		fmt.Println("race, lab: left out; these tests need root")
		return raced
	}
	lab := raceLab(root, files, tests, starts, flags)
	switch { // flags such as -run may select tests of one stage only
	case errors.Is(lab, errNoTest):
		return raced
	case errors.Is(raced, errNoTest):
		return lab
	}
	return errors.Join(raced, lab)
}

// raceLab runs with the race detector the tests of the stage lab that are in the folders of starts and do not judge
// real time. The flags are of go test.
func raceLab(root string, files []string, tests []test, starts map[string]bool, flags []string) error {
	judges, err := judgesRealTime(root, files)
	if err != nil {
		return err
	}
	s := selection{stages: []string{"lab"}, tests: tests, accept: func(t test) bool {
		return starts[t.folder] && !judges[t.folder+" "+t.name]
	}}
	return s.run(root, "race, lab", append([]string{"-race", "-tags", "lab", "-p", "1"}, flags...))
}

// startsGoroutines returns the folders with a go statement in code or tests or a call of a method Go, as sync.WaitGroup
// has one. It leaves out packages main.
func startsGoroutines(root string, files []string) (map[string]bool, error) {
	starts := map[string]bool{}
	for _, name := range goFiles(files) {
		folder := path.Dir(name)
		if starts[folder] {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if file.Name.Name == "main" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts[folder] = true
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
					starts[folder] = true
				}
			}
			return true
		})
	}
	return starts, nil
}
