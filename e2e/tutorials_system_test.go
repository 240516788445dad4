//go:build system

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var registered = regexp.MustCompile(`(?m)^\tr\.[A-Z].*$`)

// TestTutorials_GiveShownOutput checks that each tutorial gives the output that it shows, with its files as
// printed. Because linking is slow, there are two differences: one program has the additions of all tutorials, and
// it is built once. With -tags slow each is built separately.
func TestTutorials_GiveShownOutput(t *testing.T) {
	dir := emptyFolder(t)
	var imports, lines, setup []string
	all := map[string][]step{}
	for _, page := range pages(t) {
		all[page] = steps(t, page)
		for i, s := range all[page] {
			switch {
			case i == 0:
				setup = append(setup, s.text)
			case s.file == "main.go":
				lines = append(lines, registered.FindString(s.text))
				imports = append(imports, regexp.MustCompile(`"example.org/mine/[a-z]+"`).FindString(s.text))
			case strings.HasSuffix(s.file, ".go"): // also what is written anew
				carryOut(t, dir, []step{s}, strings.NewReplacer())
			}
		}
	}
	if len(slices.Compact(setup)) != 1 || slices.Contains(lines, "") || slices.Contains(imports, "") {
		t.Fatalf("%q, %q, %q", setup, lines, imports)
	}
	program := fmt.Sprintf("package main\n\nimport (\n\t\"os\"\n\n\t%s\n\n"+
		"\t\"weir/app\"\n\t_ \"weir/app/figure\"\n)\n\nfunc main() {\n"+
		"\tr := app.Registry()\n%s\n\tos.Exit(app.Main(r))\n}\n", strings.Join(imports, "\n\t"), strings.Join(lines, "\n"))
	carryOut(t, dir, []step{{text: setup[0]}, {file: "main.go", text: program},
		{text: "go mod tidy\ngo build -o ../program .\ngo test ./...\n"}}, strings.NewReplacer())
	for page, steps := range all {
		t.Run(page, func(t *testing.T) {
			own := filepath.Join(t.TempDir(), "mine")
			for _, s := range steps[1:] {
				if s.file == "" && len(s.want) > 0 && strings.Contains(s.want[0], "it reads telemetry") {
					continue // of the first of two versions: TestCheck_FindsMistakes, and with -tags slow here
				}
				carryOut(t, mkdir(t, own), []step{s}, strings.NewReplacer("go run .", filepath.Dir(dir)+"/program",
					"go mod tidy\n", "", "go test", "true"))
			}
			plotted(t, own, page)
		})
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
