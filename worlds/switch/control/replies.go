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
	IsUnreadable = "unreadable" // ReadReplies returns it for a line
)

// maxReply limits the bytes of a line that the supervisor reads. A reply that is brief is shorter, although JSON may
// write six bytes for one.
const maxReply = 1 << 18

// Limits of a brief reply: notes, and bytes in each and in its text.
const (
	maxNotes  = 20
	maxNote   = 2000
	maxReason = 32 << 10
)

// Brief returns a reply of limited size with the same content in short, and the number of the notes that it leaves out.
func (a Reply) Brief() Reply {
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

// cutAt shortens a text to a number of bytes and marks that some are missing.
func cutAt(text string, limit int) string {
	const more = " …"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}

// ReadReplies hands over the replies in out up to its end. It reads on whatever comes: a data plane whose replies are
// not read would wait, and carry no frames. A line that is too long or no reply is handed over as unreadable.
func ReadReplies(out io.Reader, hand func(Reply)) {
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
		hand(a)
	}
}
