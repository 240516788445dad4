package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Reply is a message of the data plane to the supervisor: a line of JSON.
type Reply struct {
	Is    string // begun, reloaded, refused, note, stopped, unreadable
	Text  string
	Notes []string
	Left  int
}

// Words of Reply.Is.
const (
	IsBegun      = "begun"
	IsReloaded   = "reloaded"
	IsRefused    = "refused"
	IsNote       = "note"
	IsStopped    = "stopped"
	IsUnreadable = "unreadable" // made by ReadReplies for an invalid line
)

// maxReply limits the bytes of a line that the supervisor reads. Replies from Shorten are shorter, even if JSON
// writes six bytes for one.
const maxReply = 1 << 18

// Limits of Shorten: notes, bytes of a note, and bytes of the text.
const (
	maxNotes  = 20
	maxNote   = 2000
	maxReason = 32 << 10
)

// Shorten returns a shortened copy of limited size: its text and notes are cut, and at most maxNotes notes are followed
// by the number of omitted ones. The original keeps its notes.
func (a Reply) Shorten() Reply {
	a.Text = cutAt(a.Text, maxReason)
	var notes []string
	for i, x := range a.Notes {
		if i == maxNotes {
			notes = append(notes, fmt.Sprintf("and %d more", len(a.Notes)-i))
			break
		}
		notes = append(notes, cutAt(x, maxNote))
	}
	a.Notes = notes
	return a
}

// cutAt shortens a text to at most limit bytes and marks the cut with " …". The result is valid UTF-8 if the text is
// cut. limit must be above the length of the mark, 4 bytes.
func cutAt(text string, limit int) string {
	const more = " …"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}

// ReadReplies passes the replies in out to handle until its end, and blocks until then. It reads on after invalid
// input, because a data plane with unread replies would block and carry no frames. A line that is too long or invalid
// is passed as IsUnreadable.
func ReadReplies(out io.Reader, handle func(Reply)) {
	for lines := bufio.NewReaderSize(out, maxReply); ; {
		line, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return
		}
		var a Reply
		if long || json.Unmarshal(line, &a) != nil {
			a = Reply{Is: IsUnreadable}
		}
		handle(a)
	}
}
