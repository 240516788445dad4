package testutil

import (
	"regexp"
	"strings"
)

var (
	errorPlace  = regexp.MustCompile(`(?m)^(?:weir: |\w+: weir: )?[^\s:][^:\n]*:\d+:\d+: .*$`)
	nearestName = regexp.MustCompile(`did you mean [^;?]*\?`)
	nameList    = regexp.MustCompile(`((?:allowed: |one of |known are |there are )(?:\w+: )?)[^,;\n]+(?:, [^,;\n]+){3,}`)
)

// RemoveLists replaces each list of four or more allowed names in an error by "…", so that a new name does not change a
// golden file.
func RemoveLists(text string) string { return nameList.ReplaceAllString(text, "${1}…") }

// BriefError reduces an error to its place, its kind and the nearest name, one line for each place. The kind is the
// message up to what is allowed. Lines without a place, such as excerpts and carets, are left out; a text without any
// place stays, without its lists.
func BriefError(text string) string {
	lines := errorPlace.FindAllString(text, -1)
	if len(lines) == 0 {
		return RemoveLists(text)
	}
	var b strings.Builder
	for _, line := range lines {
		kind, _, _ := strings.Cut(line, "; ")
		b.WriteString(RemoveLists(kind))
		if near := nearestName.FindString(line); near != "" && !strings.Contains(kind, near) {
			b.WriteString("; " + near)
		}
		b.WriteString("\n")
	}
	return b.String()
}
