package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"weir/internal/killpoint"
)

// JoinShared joins the living processes that share the file place with the same text. The returned function leaves
// them, and the last one removes the file. If they share another text, joined is false, leave is nil and with is that
// text, up to maxExtraText bytes longer than text. The file's folder must exist.
func JoinShared(place, text string) (leave func(), joined bool, with string, err error) {
	dir := filepath.Dir(place)
	name := filepath.Join(dir, prefix+filepath.Base(place))
	defer Lock(dir)() // only RemoveUnfinished locks the file without this lock, and briefly
	for again := 0; ; {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, false, "", err
		}
		alone := lock(f)
		if alone == nil || alone == errNoLocks {
			killpoint.Reach(killpoint.Before, "share", place)
			err := replaceText(f, text)
			killpoint.Reach(killpoint.After, "share", place)
			if err != nil {
				f.Close()
				return nil, false, "", err
			}
		} else if alone != ErrTaken {
			f.Close()
			return nil, false, "", alone
		}
		shareLock(f)
		has, err := io.ReadAll(io.NewSectionReader(f, 0, int64(len(text)+maxExtraText)))
		switch {
		case !isLinked(f): // RemoveUnfinished has removed it
			f.Close()
		case err != nil:
			f.Close()
			return nil, false, "", err
		case string(has) == text:
			return func() { leaveShared(dir, f) }, true, text, nil
		case again == maxRetries:
			f.Close()
			return nil, false, string(has), nil
		default: // a dead process's text, if RemoveUnfinished had the lock
			f.Close()
			again++
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// maxExtraText is the number of bytes beyond its own text that JoinShared reads of another text.
const maxExtraText = 4096

// maxRetries is the number of retries after another text was read.
const maxRetries = 5

// replaceText overwrites a file with a text.
func replaceText(f *os.File, text string) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	return err
}

// leaveShared closes a shared file, and removes it if no other process shares it.
func leaveShared(dir string, f *os.File) {
	defer Lock(dir)()
	if err := lock(f); err == nil || err == errNoLocks { // no other process shares it
		os.Remove(f.Name())
	}
	f.Close()
}
