package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"sync"
)

//go:embed static
var static embed.FS

// edition is a part of the addresses of scripts and styles, which changes when one of them does: a browser keeps what
// it has of an edition, and asks for nothing again from page to page.
var edition = sync.OnceValue(func() string {
	h := sha256.New()
	all, _ := fs.Glob(static, "static/*") // of a pattern that is right
	for _, name := range all {
		data, _ := static.ReadFile(name) // it is embedded
		h.Write([]byte(name))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// address is that of a script, a style or an icon.
func address(file string) string { return "/static/" + edition() + "/" + file }

// staticFile shows one of them. Nothing else may be kept by a browser.
func (s *Server) staticFile(w http.ResponseWriter, r *http.Request) error {
	name := path.Join("static", r.PathValue("file"))
	if info, err := fs.Stat(static, name); err != nil || !info.Mode().IsRegular() || r.PathValue("edition") != edition() {
		return missing("There is no such file.")
	}
	w.Header().Set("Cache-Control", "private, max-age=604800, immutable")
	http.ServeFileFS(w, r, static, name)
	return nil
}
