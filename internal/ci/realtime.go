package main

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// realTimeImports are packages for tests that measure real time or need root.
var realTimeImports = []string{"weir/internal/testkit/realtime", "weir/internal/netns",
	"weir/internal/testkit/labtest"}

// realTimeFolders returns the folders with a test file of a stage, helpers included, that imports a package of
// realTimeImports or is for Linux only. A computation that runs next to them disturbs them.
func realTimeFolders(root string, files []string, stage string) (map[string]bool, error) {
	folders := map[string]bool{}
	err := visitTestFiles(root, files, func(name string, src []byte) error {
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || !slices.Contains(stagesOf(file), stage) {
			return err
		}
		needs := strings.HasSuffix(name, "_linux_test.go")
		for _, i := range file.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			needs = needs || slices.Contains(realTimeImports, imported)
		}
		if needs {
			folders[path.Dir(name)] = true
		}
		return nil
	})
	return folders, err
}
