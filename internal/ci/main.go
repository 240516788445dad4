// Ci runs Weir's stages of tests and its checks of the source. The scripts in .ci call it:
//
//	go run ./internal/ci list [-update]        # compare internal/testlist.txt with the tests, or write it
//	go run ./internal/ci stage NAME [FLAG …]   # run a stage's tests; FLAG is a flag of go test
//	go run ./internal/ci race [FLAG …]         # run tests of packages that start goroutines with the race detector
//	go run ./internal/ci lint                  # check the source, as .ci/lint does
//	go run ./internal/ci language [-lower]     # count words of the old dialect, or lower the bounds
//	go run ./internal/ci prose [-lower] [PAGE …] # print pages above their limits, or lower the bounds
//	go run ./internal/ci coverage DIR          # compare the coverage of `go test ./...` by package with DIR's
//	go run ./internal/ci catalogue BASE …      # compare the quick catalogue with commit BASE's
//	go run ./internal/ci module PATH           # give the module another path, everywhere
//	go run ./internal/ci verdicts [-update] …  # compare the quick catalogue's verdicts with the file, or write it
//	go run ./internal/ci papers [-from DIR] …  # write the full catalogue's results into docs/papers
package main

import (
	"fmt"
	"os"
)

// commands are the program's subcommands. Each gets the module's root and its arguments.
var commands = map[string]func(root string, args []string) error{
	"list":      listCommand,
	"stage":     stageCommand,
	"race":      raceCommand,
	"lint":      lintCommand,
	"language":  languageCommand,
	"prose":     proseCommand,
	"coverage":  coverageCommand,
	"catalogue": catalogueCommand,
	"module":    moduleCommand,
	"verdicts":  verdictsCommand,
	"papers":    papersCommand,
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == execCommand {
		os.Exit(execTest(os.Args[2:]))
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		os.Exit(1)
	}
}

// run executes the subcommand args[0] with the other arguments in the module's root. It also sets LC_ALL of this
// process and of the programs that it runs.
func run(args []string) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("usage: ci list|stage|race|lint|language|prose|coverage|catalogue|module|verdicts|papers …")
	}
	if err := os.Setenv("LC_ALL", "C.UTF-8"); err != nil { // tests read what git, R and gnuplot print
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	return commands[args[0]](root, args[1:])
}
