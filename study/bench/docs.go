package bench

import (
	"fmt"
	"os"
	"strings"

	"weir/internal/atomicfile"
)

// ReplaceText replaces the text of a page between the lines <!-- name --> and <!-- /name -->. It returns an error if
// the file cannot be read or written, or lacks these lines.
func ReplaceText(file, name, text string) error {
	before, after, err := SplitPage(file, name)
	if err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(before+"\n"+text+"\n"+after))
}

// SplitPage returns the parts of a page before and behind the text that ReplaceText replaces. It returns the same
// errors as ReplaceText, so that they can be found before figures are measured for minutes.
func SplitPage(file, name string) (before, after string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	open, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- /%s -->\n", name)
	before, rest, ok := strings.Cut(string(data), open)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", fmt.Errorf("%s: the marks for the figures are missing; add the lines %q and %q",
			file, strings.TrimSpace(open),
			strings.TrimSpace(end))
	}
	return before + open, end + after, nil
}
