package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// moduleCommand gives the module the path args[0]: in imports, documents, examples, tutorials and the release.
func moduleCommand(root string, args []string) error {
	if len(args) != 1 || !modulePath.MatchString(args[0]) {
		return fmt.Errorf("usage: ci module PATH, as example.org/net/weir; or weir, as it has no address")
	}
	old, err := moduleName(root)
	if err != nil {
		return err
	}
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	folders := packageFolders(files)
	for _, name := range files {
		file := filepath.Join(root, name)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		changed := renameModule(name, data, folders, old, args[0])
		if bytes.Equal(changed, data) {
			continue
		}
		info, err := os.Stat(file)
		if err == nil {
			err = os.WriteFile(file, changed, info.Mode())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noAddress is the path of a module that go install cannot fetch.
const noAddress = "weir"

// modulePath matches paths that a module may have: noAddress, or a host with folders.
var modulePath = regexp.MustCompile(`^(weir|[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+)$`)

// moduleLine matches the module's path in go.mod.
var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// moduleName returns the module's path from go.mod.
func moduleName(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	line := moduleLine.FindSubmatch(data)
	if line == nil {
		return "", fmt.Errorf("go.mod has no line module PATH")
	}
	return string(line[1]), nil
}

// packageFolders returns the folders at the root of the module that have Go files of the module below them, in the
// order of files, which are all files of the tree.
func packageFolders(files []string) (folders []string) {
	for _, name := range goFiles(files) {
		top, _, below := strings.Cut(name, "/")
		if below && !slices.Contains(folders, top) {
			folders = append(folders, top)
		}
	}
	return folders
}

// renameModule returns the text of a file of the module with the new path in place of old. The argument folders has the
// module's folders with packages. A binary file remains as it is.
func renameModule(name string, data []byte, folders []string, old, path string) []byte {
	if bytes.IndexByte(data, 0) >= 0 { // not a text
		return data
	}
	quoted := regexp.QuoteMeta(old)
	replace := func(pattern, with string) {
		data = regexp.MustCompile(pattern).ReplaceAll(data, []byte(strings.ReplaceAll(with, "PATH", path)))
	}
	// paths of packages, wherever they stand
	for range 2 { // two that stand side by side share the character between them
		replace(`(?m)(^|[^\w./~@-])`+quoted+`/(`+strings.Join(folders, "|")+`)\b`, "${1}PATH/${2}")
	}
	switch {
	case strings.HasSuffix(name, ".go"): // the package at the root, and the module by its name
		replace(`(?m)^(\t(?:import )?\w+ )"`+quoted+`"$`, `${1}"PATH"`)
		replace(`(?m)^((?:const|\t)\s*module\s*= )"`+quoted+`"$`, `${1}"PATH"`)
	case filepath.Base(name) == "go.mod":
		replace(`(?m)^module `+quoted+`$`, "module PATH")
		replace(`(?m)^(require|replace) `+quoted+` `, "${1} PATH ")
	case name == "README.md":
		data = installBlock.ReplaceAll(data, []byte("${1}"+installText(path)+"${2}"))
	case strings.HasSuffix(name, ".md"):
		replace(`-require `+quoted+`@v0\.0\.0 -replace `+quoted+`=`, "-require PATH@v0.0.0 -replace PATH=")
	}
	return data
}

// installBlock matches the README's instructions for installing Weir.
var installBlock = regexp.MustCompile(`(?s)(<!-- install: begin -->\n).*?(<!-- install: end -->)`)

// installText returns the README's instructions for the installation of a module with this path. Their last line is a
// command for a clone, which .ci/stranger runs.
func installText(path string) string {
	const clone, command = "In a clone of this repository", ":\n\n    go run ./cmd/weir run p4abc/fig5\n\n"
	if path == noAddress {
		return clone + ", with Go 1.26 or later" + command
	}
	return "With Go 1.26 or later:\n\n    go install " + path + "/cmd/weir@latest\n\n" + clone + command
}
