package cli

import (
	"strings"
	"testing"

	pages "weir"
)

// TestLibraryTitles compares the titles of libraries with the README's table of systems. Each system has a library.
// The title begins with the system's name, and an expansion of the name ("NCF: …") is the one in the title of its
// paper.
func TestLibraryTitles(t *testing.T) {
	readme, err := pages.Files.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(readme), "\n## The four systems\n")
	table, _, ended := strings.Cut(table, "\n## ")
	if !found || !ended {
		t.Fatal("README.md has no table of the four systems")
	}
	systems := map[string]string{} // the rest of the row
	for line := range strings.Lines(table) {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) < 3 {
			continue
		}
		if name := strings.TrimSpace(cells[1]); name != "system" && strings.Trim(name, "-") != "" {
			systems[name] = cells[2]
		}
	}
	titled := 0
	for _, l := range Registry().Library {
		name, expansion, _ := strings.Cut(l.Title, ": ")
		row, isSystem := systems[name]
		switch {
		case l.Title == "":
			t.Errorf("library %s has no title", l.Name)
		case isSystem:
			if titled++; !strings.Contains(strings.ToLower(row), strings.ToLower(expansion)) {
				t.Errorf("library %s: README.md does not call %s %q: %s", l.Name, name, expansion, row)
			}
		case expansion != "":
			t.Errorf("library %s: README.md does not describe a system %s", l.Name, name)
		}
	}
	if titled != len(systems) || titled != 4 {
		t.Errorf("%d systems in README.md, of which %d have a library", len(systems), titled)
	}
}
