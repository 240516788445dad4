package atomicfile

import (
	"os"
	"path/filepath"
	"sync"
)

// NewTempFolder makes a temporary folder in the system's folder for them, until this process ends or remove is called.
// It removes folders with the same name before the number that dead processes of this user have left.
func NewTempFolder(name string) (dir string, remove func(), err error) {
	left, err := filepath.Glob(filepath.Join(escape(os.TempDir()), name+"-*"))
	if err != nil {
		return "", nil, err
	}
	for _, old := range left {
		if f := openLeftover(old); f != nil {
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
			if err = lock(f); (err == nil || err == errNoLocks) && isLinked(f) {
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

// openLeftover opens and locks a folder of this user that no living process has locked; nil otherwise.
func openLeftover(name string) *os.File {
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() || !isOwn(info) {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	if lock(f) != nil || !isLinked(f) {
		f.Close()
		return nil
	}
	return f
}
