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

// TraceDigests is the suffix of the file with the digests of a trace's files. It has a line for each file in the
// format of sha256sum(1), so that sha256sum -c accepts it. Its first line, a comment there, is DigestHead's.
const TraceDigests = ".sha256"

// maxDigestBytes limits the size of that file.
const maxDigestBytes = 64 * unit.KB

// DigestLine returns the line of a file with its base name and SHA-256, including the line break.
func DigestLine(name string, sum []byte) string { return fmt.Sprintf("%x  %s\n", sum, name) }

// DigestHead returns the line, with its line break, that binds digests to a result of a run. Lists of other runs or of
// other results have another line.
func DigestHead(r *Run) string {
	return fmt.Sprintf("# run %s, seed %d, result %s\n", r.ID, r.Seed, storedDigest(r.EncodeJSON(true)))
}

// CheckTrace returns a DamagedError if a file of a trace does not match its digest, or if the digests do not begin with
// head; "" matches any. name is the file of the trace. listed reports whether the file has a digest; without one there
// is no error.
func CheckTrace(name, head string) (listed bool, err error) {
	digestFile := strings.TrimSuffix(name, filepath.Ext(name)) + TraceDigests
	list, err := document.ReadFile(digestFile, maxDigestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, DamagedError{fmt.Sprintf("%s cannot be read: %v", filepath.Base(digestFile),
			document.UnwrapPathError(err))}
	}
	want := ""
	for line := range bytes.Lines(list) {
		digest, file, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "  ")
		if file == filepath.Base(name) {
			want = digest
		}
	}
	if want == "" {
		return false, nil
	}
	if !strings.HasPrefix(string(list), head) {
		return true, DamagedError{fmt.Sprintf("%s belongs to another run or result", filepath.Base(digestFile))}
	}
	f, _, err := document.Open(name)
	if err != nil {
		return true, DamagedError{fmt.Sprintf("the file cannot be read: %v", document.UnwrapPathError(err))}
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return true, DamagedError{fmt.Sprintf("the file cannot be read: %v", document.UnwrapPathError(err))}
	}
	if hex.EncodeToString(sum.Sum(nil)) != want {
		return true, DamagedError{"the file is damaged: it does not match the digest in " + filepath.Base(digestFile)}
	}
	return true, nil
}
