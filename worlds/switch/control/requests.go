package control

import (
	"bufio"
	"encoding/json"
)

// Request is a message of the supervisor to the data plane: a line of JSON.
type Request struct {
	Do   string // begin, reload, publish, stop
	File string
	Data []byte
	// Descriptors for begin.
	Sockets []Socket
	Page    int
	Bypass  bool // a bypass waits for its end
}

// Socket is an open packet socket of a port.
type Socket struct {
	FD       int
	Port     string
	MaxFrame int
}

// Words of Request.Do.
const (
	DoBegin   = "begin"
	DoReload  = "reload"
	DoPublish = "publish"
	DoStop    = "stop"
)

// ReadRequest reads the next request, a line. The error is io.EOF at the end, or about an invalid line, after which the
// next request can be read.
func ReadRequest(lines *bufio.Reader) (r Request, err error) {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}
