package bench

import (
	"fmt"
	"os"
	"strings"

	"weir/internal/atomicfile"
)

// Put replaces what stands in a page between the lines <!-- name --> and <!-- /name --> by a text. The error is about
// the file, or says that it does not have these lines.
func Put(file, name, text string) error {
	before, after, err := Place(file, name)
	if err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(before+"\n"+text+"\n"+after))
}

// Place returns what of a page stands before the place that Put writes to, and what behind it. Its error is that of
// Put, which is worth knowing before figures are measured for minutes.
func Place(file, name string) (before, after string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	open, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- /%s -->\n", name)
	before, rest, ok := strings.Cut(string(data), open)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", fmt.Errorf("%s: no place for the figures: it needs the lines %q and %q", file, strings.TrimSpace(open),
			strings.TrimSpace(end))
	}
	return before + open, end + after, nil
}
