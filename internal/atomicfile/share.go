package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"weir/internal/killpoint"
)

// Share joins those that live and have joined under this name with the same text; the returned function leaves them,
// and takes the file away if nobody else is there. joined is false if they have another text, which is returned:
// then nothing is to be left. The file's folder must be there.
func Share(place, text string) (leave func(), joined bool, with string, err error) {
	dir := filepath.Dir(place)
	name := filepath.Join(dir, prefix+filepath.Base(place))
	defer Lock(dir)() // of all that lock the file, only Sweep does it without this, and shortly
	for again := 0; ; {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, false, "", err
		}
		alone := lock(f)
		if alone == nil || alone == errNoLocks {
			killpoint.Reach(killpoint.Before, "share", place)
			err := replace(f, text)
			killpoint.Reach(killpoint.After, "share", place)
			if err != nil {
				f.Close()
				return nil, false, "", err
			}
		} else if alone != ErrTaken {
			f.Close()
			return nil, false, "", alone
		}
		share(f)
		has, err := io.ReadAll(io.NewSectionReader(f, 0, int64(len(text)+most)))
		switch {
		case !there(f): // it was swept
			f.Close()
		case err != nil:
			f.Close()
			return nil, false, "", err
		case string(has) == text:
			return func() { part(dir, f) }, true, text, nil
		case again == patience:
			f.Close()
			return nil, false, string(has), nil
		default: // a dead one's text, if it was Sweep that had locked it
			f.Close()
			again++
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// most is how much more is read of another's text than the own has.
const most = 4096

// patience is how often a file is looked at again whose text is another one.
const patience = 5

func replace(f *os.File, text string) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	return err
}

// part leaves those who share a file.
func part(dir string, f *os.File) {
	defer Lock(dir)()
	if err := lock(f); err == nil || err == errNoLocks { // nobody else is there
		os.Remove(f.Name())
	}
	f.Close()
}
