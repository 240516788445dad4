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

// staticEdition returns a digest of the scripts and styles that is part of their addresses. Browsers cache the files
// of an edition and request new ones after a change.
var staticEdition = sync.OnceValue(func() string {
	h := sha256.New()
	all, _ := fs.Glob(static, "static/*") // the pattern is valid
	for _, name := range all {
		data, _ := static.ReadFile(name) // the file is embedded
		h.Write([]byte(name))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// staticURL returns the address of a script, a style or an icon.
func staticURL(file string) string { return "/static/" + staticEdition() + "/" + file }

// serveStatic sends an embedded file. These are the only responses that browsers may cache.
func (s *Server) serveStatic(w http.ResponseWriter, r *http.Request) error {
	name := path.Join("static", r.PathValue("file"))
	if info, err := fs.Stat(static, name); err != nil || !info.Mode().IsRegular() ||
		r.PathValue("edition") != staticEdition() {
		return notFound("The file does not exist.")
	}
	w.Header().Set("Cache-Control", "private, max-age=604800, immutable")
	http.ServeFileFS(w, r, static, name)
	return nil
}
