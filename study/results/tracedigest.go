package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
)

// TraceDigests is what the name of the file ends with that has the digests of a trace's files, beside them, a line
// each as sha256sum(1) writes it: so `sha256sum -c` checks them too. Its first line, a comment there, is DigestHead's.
const TraceDigests = ".sha256"

// largestDigests is the most that is read of it.
const largestDigests = 64 * unit.KB

// DigestLine is the line of a file.
func DigestLine(name string, sum []byte) string { return fmt.Sprintf("%x  %s\n", sum, name) }

// DigestHead is the line that binds digests to a run: a list that was made for another run, or for another result
// of this one, has another line.
func DigestHead(r *Run) string {
	return fmt.Sprintf("# run %s, seed %d, result %s\n", r.ID, r.Seed, sealOf(r.Json(true)))
}

// CheckTrace is a DamagedError if a file of a trace does not have the digest that stands beside it, or if the digests
// do not begin with that head; "": whatever they begin with. listed: one does.
func CheckTrace(name, head string) (listed bool, err error) {
	beside := strings.TrimSuffix(name, filepath.Ext(name)) + TraceDigests
	list, err := document.ReadFile(beside, largestDigests)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, DamagedError{fmt.Sprintf("%s cannot be read: %v", filepath.Base(beside), document.Reason(err))}
	}
	want := ""
	for line := range bytes.Lines(list) {
		digest, of, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "  ")
		if of == filepath.Base(name) {
			want = digest
		}
	}
	if want == "" {
		return false, nil
	}
	if !strings.HasPrefix(string(list), head) {
		return true, DamagedError{fmt.Sprintf("%s is of another run or of another result", filepath.Base(beside))}
	}
	f, _, err := document.Open(name)
	if err != nil {
		return true, DamagedError{fmt.Sprintf("it cannot be read: %v", document.Reason(err))}
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return true, DamagedError{fmt.Sprintf("it cannot be read: %v", document.Reason(err))}
	}
	if hex.EncodeToString(sum.Sum(nil)) != want {
		return true, DamagedError{"it is damaged: it does not have the digest in " + filepath.Base(beside)}
	}
	return true, nil
}
