package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// executableHash is the SHA-256 of this program's file or, where that cannot be read, of its
// build information.
func executableHash() string {
	path, err := os.Executable()
	if err == nil {
		if f, err := os.Open(path); err == nil {
			defer f.Close()
			h := sha256.New()
			if _, err := io.Copy(h, f); err == nil {
				return hex.EncodeToString(h.Sum(nil))
			}
		}
	}
	build := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.String()
	}
	h := sha256.Sum256([]byte(build))
	return hex.EncodeToString(h[:])
}

// version is the module's version or its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "development"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v + " " + info.GoVersion
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, "weir", version())
	return nil
}
