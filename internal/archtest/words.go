package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxPackages limits the packages that declare an exported type of the same name without a row in the table of words.
const maxPackages = 3

// wordHead begins the head of the table of words.
const wordHead = "| type | meaning"

// wordRow is a row of the table of words: a name of types, its meaning, and the packages that declare it. A last cell
// without code spans describes the packages in words, which is not compared.
var wordRow = regexp.MustCompile("^\\| `([A-Z][A-Za-z]*)` \\| (.+) \\| (.+) \\|$")

// checkTypeNames checks that exported types of the same name mean the same. Each name that more than maxPackages
// packages below fsys declare needs a row in the table of page. A row's packages have to be those that declare the
// name. Aliases and tests are not counted. Without a table in page, checkTypeNames returns an error.
func checkTypeNames(fsys fs.FS, page string) (found []Violation, err error) {
	text, err := fs.ReadFile(fsys, page)
	if err != nil {
		return nil, err
	}
	packages, err := typeNames(fsys)
	if err != nil {
		return nil, err
	}
	listed, inTable := map[string]bool{}, false
	for i, line := range strings.Split(string(text), "\n") {
		inTable = strings.HasPrefix(line, wordHead) || inTable && strings.HasPrefix(line, "|")
		m := wordRow.FindStringSubmatch(line)
		if m == nil || !inTable {
			continue
		}
		word, declared := m[1], packages[m[1]]
		at := token.Position{Filename: page, Line: i + 1, Column: 1}
		switch {
		case listed[word]:
			found = append(found, Violation{at, fmt.Sprintf("%s has two rows", word)})
		case len(declared) < 2:
			found = append(found, Violation{at, fmt.Sprintf("%s is a type of %d packages and needs no row", word,
				len(declared))})
		case strings.Contains(m[3], "`"):
			if want := "`" + strings.Join(declared, "`, `") + "`"; m[3] != want {
				found = append(found, Violation{at, fmt.Sprintf("%s is declared by %s", word, want)})
			}
		}
		listed[word] = true
	}
	if len(listed) == 0 {
		return nil, fmt.Errorf("%s has no table of words", page)
	}
	for _, word := range slices.Sorted(maps.Keys(packages)) {
		if n := len(packages[word]); n > maxPackages && !listed[word] {
			found = append(found, Violation{Msg: fmt.Sprintf("%d packages declare a type %s; at most %d, or a row in %s: %s",
				n, word, maxPackages, page, strings.Join(packages[word], ", "))})
		}
	}
	return found, nil
}

// typeNames returns the packages below fsys that declare an exported type, in order, by the type's name. Aliases,
// tests, and types of main packages are left out.
func typeNames(fsys fs.FS) (map[string][]string, error) {
	packages := map[string][]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil || f.Name.Name == "main" {
			return err
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() && !t.Assign.IsValid() {
					packages[t.Name.Name] = append(packages[t.Name.Name], path.Dir(name))
				}
			}
		}
		return nil
	})
	for word, all := range packages { // a type may have a file for each system
		slices.Sort(all)
		packages[word] = slices.Compact(all)
	}
	return packages, err
}
