package page

import (
	"io/fs"
	"net/http"

	"weir/study/experiment"
	"weir/study/page/live"
)

// The parts of the inside that tests see.

func (s *Server) Session() string                   { return s.session }
func (s *Server) CookieName(r *http.Request) string { return s.cookieName(r) }
func (s *Server) Jobs() []*live.Job                 { return s.jobs.Jobs() }
func (s *Server) Job(id int) *live.Job              { return s.jobs.Job(id) }
func (s *Server) About(name string) (any, string) {
	a := s.index.loadSummary(name)
	return a, a.Experiment
}

// FillStreams opens as many streams of events as there may be, and returns what closes them.
func (s *Server) FillStreams() (empty func()) {
	for range maxStreams {
		s.streams <- struct{}{}
	}
	return func() {
		for range maxStreams {
			<-s.streams
		}
	}
}
func (s *Server) SetHosts(names ...string) { s.hosts = names }
func (s *Server) DocFiles() (files []string) {
	for _, p := range s.docs.pages {
		files = append(files, p.File)
	}
	return files
}

// Files returns the files of a folder from which its line in the list is made.
func Files() []string { return summaryFiles[:] }

// Static is the address of a script or a style.
func Static(name string) string { return staticURL(name) }

// Picture reports whether a page of the documentation may be that picture.
func Picture(name string) bool { return picturePath.MatchString(name) }

// Rendered is the first page of a documentation.
func Rendered(files fs.FS) (string, error) {
	d, err := newDocs(files)
	if err != nil {
		return "", err
	}
	html, err := d.renderPage(&d.pages[0])
	return string(html), err
}

// Placed are the nodes of a drawing.
type Placed = drawnNode

// Draw draws a point's network.
func Draw(p *experiment.Point) (nodes []Placed, links, rows int) {
	d := drawNetwork(p)
	return d.Nodes, len(d.Links), d.Rows
}

// MaxListed is the maximum number of folders on a page of the list.
const MaxListed = rowsPerPage

// Read is how many folders have been read.
func (s *Server) Read() int {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	return len(s.index.summaries)
}
