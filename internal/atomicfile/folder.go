package atomicfile

import (
	"os"
	"path/filepath"
	"sync"
)

// Folder makes a folder in the system's for temporary files, for as long as this process lives or until remove is
// called. It removes those of the same name, before a number, that dead processes of this user have left.
func Folder(name string) (dir string, remove func(), err error) {
	left, err := filepath.Glob(filepath.Join(escape(os.TempDir()), name+"-*"))
	if err != nil {
		return "", nil, err
	}
	for _, old := range left {
		if f := ownFolder(old); f != nil {
			os.RemoveAll(old)
			f.Close()
		}
	}
	for {
		if dir, err = os.MkdirTemp("", name+"-*"); err != nil {
			return "", nil, err
		}
		f, err := os.Open(dir)
		if err == nil {
			if err = lock(f); (err == nil || err == errNoLocks) && there(f) {
				return dir, sync.OnceFunc(func() {
					os.RemoveAll(dir)
					f.Close()
				}), nil
			}
			f.Close()
		}
		if err != nil && err != ErrTaken && !os.IsNotExist(err) {
			os.RemoveAll(dir)
			return "", nil, err
		}
	}
}

// ownFolder opens and locks a folder of this user's that nobody living has locked; nil if it is none.
func ownFolder(name string) *os.File {
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() || !own(info) {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	if lock(f) != nil || !there(f) {
		f.Close()
		return nil
	}
	return f
}
