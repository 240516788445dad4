package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// languageFile has the bounds of the language counts: a number and a name a line. A bound only falls.
const languageFile = "internal/ci/language.txt"

// commentPatterns are expressions of the old dialect, counted in comments of Go code without tests.
var commentPatterns = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"comments: of which, of whom, of whose", regexp.MustCompile(`\bof (which|whom|whose)\b`)},
	{"comments: that of, those of", regexp.MustCompile(`\b(that|those) of\b`)},
	{"comments: who as a subject", regexp.MustCompile(
		`(?:^|[^a-z] |[^ ])\b[Ww]ho (heeds|is|has|asks|makes|takes|sends|gets|wants|reacts|runs|wait|does|builds)`)},
	{"comments: say, tell", regexp.MustCompile(`\b(says?|said|tells?|told)\b`)},
	{"comments: heed, vouch, beside, anew, mend", regexp.MustCompile(
		`\b(heeds?|heeded|vouch\w*|beside|besides|anew|mend\w*)\b`)},
	{"comments: nothing, none, nobody, whoever", regexp.MustCompile(`\b(nothing|none|nobody|whoever|whatever|whose)\b`)},
	{"comments: a clause with for", regexp.MustCompile(`, for (it|they|a|the|no)\b`)},
	{"comments: is that of, are those of", regexp.MustCompile(`\b(is|are) (that|those) of\b`)},
	{"comments: ours", regexp.MustCompile(`\bours\b`)},
}

// oddWords are words of the old dialect in names of functions and types.
var oddWords = strings.Fields(`alone heed think thinks told tell tells hear hears heard beside shelf look looks mend
	mended mends shown traps trap twins twin reach begun carried stuck vouch deaf gone early late ends end around
	surroundings anew without need needs bare kept given asked ask asks answers answer said say says judge agree obey
	doomed dooms silent rigid facing settled suits patient counting followed upset rise rest spare spread forge census
	crew thread stride pace paced settle janitor employ guard hostile owed dealt deal parcel sheet cell found folder fit
	supply offer allowance echo elephants budget change top site bounded led lead sent seen saw wish fine mayrecur
	recurring alike aimed holding loser lasting moving reusing serving iterating named stacked ported echoing rateless
	warner informed gauge gauged classed`)

var (
	nameWord     = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	oneWordName  = regexp.MustCompile(`^([A-Z]?[a-z0-9]+|[A-Z][A-Z0-9]*)$`)
	boundPattern = regexp.MustCompile(`^(\d+) (.+)$`)
)

// languageCounts counts the dialect in the module's Go files other than tests, by name of the count.
func languageCounts(root string, files []string) (map[string]int, error) {
	counts := map[string]int{}
	functions, oneWord := 0, 0
	for _, name := range goFiles(files) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		for _, group := range file.Comments {
			text.WriteString(strings.ReplaceAll(group.Text(), "\n", " ") + "\n")
		}
		for _, p := range commentPatterns {
			counts[p.name] += len(p.pattern.FindAllString(text.String(), -1))
		}
		for _, d := range file.Decls {
			for _, declared := range declaredNames(d) {
				if hasOddWord(declared) {
					counts["names: words of the dialect"]++
				}
			}
			if f, ok := d.(*ast.FuncDecl); ok {
				functions++
				if oneWordName.MatchString(f.Name.Name) {
					oneWord++
				}
			}
		}
	}
	counts["names: functions of one word, per mille"] = 1000 * oneWord / max(functions, 1)
	return counts, nil
}

// declaredNames returns the names of a function and of types.
func declaredNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				names = append(names, t.Name.Name)
			}
		}
	}
	return names
}

// hasOddWord reports whether a name has a word of the dialect.
func hasOddWord(name string) bool {
	for _, word := range nameWord.FindAllString(name, -1) {
		if slices.Contains(oddWords, strings.ToLower(word)) {
			return true
		}
	}
	return false
}

// readBounds parses a file of bounds and returns the numbers by their names. The file's name is for errors.
func readBounds(file, text string) (map[string]int, error) {
	bounds := map[string]int{}
	if text = strings.TrimSpace(text); text == "" {
		return bounds, nil
	}
	for i, line := range strings.Split(text, "\n") {
		m := boundPattern.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("%s:%d: %q is not a number and a name", file, i+1, line)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		bounds[m[2]] = n
	}
	return bounds, nil
}

// checkLanguage returns an error if a count is above its bound or without one, or if a bound is above an earlier one.
// It prints to out the bounds that could be lowered.
func checkLanguage(root string, files []string, out io.Writer) error {
	counts, err := languageCounts(root, files)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(root, languageFile))
	if err != nil {
		return err
	}
	bounds, err := readBounds(languageFile, string(data))
	if err != nil {
		return err
	}
	var wrong []string
	for _, name := range sortedKeys(counts) {
		bound, ok := bounds[name]
		switch n := counts[name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%q has no bound in %s", name, languageFile))
		case n > bound:
			wrong = append(wrong, fmt.Sprintf("%s: %d, at most %d are allowed", name, n, bound))
		case n < bound:
			fmt.Fprintf(out, "language: %s: %d, below its bound of %d: `go run ./internal/ci language -lower` lowers it\n",
				name, n, bound)
		}
	}
	raised, err := raisedBounds(root, languageFile, bounds)
	if err != nil {
		return err
	}
	if wrong = append(wrong, raised...); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// raisedBounds returns a message for each bound that is above its smallest value in the commits of this branch that
// touched file.
func raisedBounds(root, file string, bounds map[string]int) (raised []string, err error) {
	// A merge counts as one commit: bounds of the branch that it merges were of other source.
	commits, err := runForOutput(root, "git", "log", "--first-parent", "--diff-filter=AM", "--format=%H", "--", file)
	if err != nil {
		return nil, err
	}
	smallest := map[string]int{}
	setBy := map[string]string{} // commit by bound
	for _, commit := range strings.Fields(commits) {
		text, err := runForOutput(root, "git", "show", commit+":"+file)
		if err != nil {
			return nil, err
		}
		earlier, err := readBounds(file, text)
		if err != nil {
			return nil, err
		}
		for name, bound := range earlier {
			if least, ok := smallest[name]; !ok || bound <= least {
				smallest[name], setBy[name] = bound, commit
			}
		}
	}
	for _, name := range sortedKeys(bounds) {
		if least, ok := smallest[name]; ok && bounds[name] > least {
			raised = append(raised, fmt.Sprintf("%s: the bound was %d in %.8s and is %d; a bound only falls", name, least,
				setBy[name], bounds[name]))
		}
	}
	return raised, nil
}

// sortedKeys returns the names of counts in order.
func sortedKeys(counts map[string]int) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// languageCommand prints the counts. With -lower it writes bounds instead: the lower one of count and bound.
func languageCommand(root string, args []string) error {
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	counts, err := languageCounts(root, files)
	if err != nil {
		return err
	}
	lower := slices.Equal(args, []string{"-lower"})
	bounds := map[string]int{}
	if data, err := os.ReadFile(filepath.Join(root, languageFile)); err == nil {
		if bounds, err = readBounds(languageFile, string(data)); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, name := range sortedKeys(counts) {
		n := counts[name]
		if bound, ok := bounds[name]; ok && lower {
			n = min(n, bound)
		}
		fmt.Fprintf(&b, "%d %s\n", n, name)
	}
	if lower {
		return os.WriteFile(filepath.Join(root, languageFile), []byte(b.String()), 0o644)
	}
	fmt.Print(b.String())
	return nil
}
