package jetstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"weir/internal/bind"
	"weir/internal/document"
)

// Join has the address and credentials of a coordinator's server. Its file is as secret as a key.
type Join struct {
	// URL of NATS: nats://host:port; several are separated by commas
	Address string `json:"address"`       // URL of NATS: nats:
	Key     string `json:"key,omitempty"` // seed of an nkey
	// PEM of the server's certificate; else the system's authorities verify a URL of tls:
	Certificate string `json:"certificate,omitempty"`
	Coordinator string `json:"coordinator,omitempty"` // public nkey of the coordinator, with Key
	Credentials string `json:"credentials,omitempty"` // name of a NATS credentials file: .creds, or an nkey's seed
}

// ReadJoin reads a join file. It rejects a file that other users can read, since it has a key. Errors do not contain
// the file's values.
func ReadJoin(name string) (*Join, error) {
	wrong := func(line, column int, allowed, msg string) error {
		return document.InputErrors{{File: name, Line: line, Column: column, Msg: msg, Allowed: allowed}}
	}
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, wrong(1, 1, "0600", fmt.Sprintf("other users can read the file (mode %04o), but it contains a key",
			info.Mode().Perm()))
	}
	data, err := document.ReadFile(name, 1<<20)
	if err != nil {
		return nil, wrong(1, 1, "", fmt.Sprintf("the file cannot be read: %v", document.UnwrapPathError(err)))
	}
	j, bad := parseJoin(data)
	if bad != nil {
		line, column := findPosition(data, bad.offset)
		return nil, wrong(line, column, bad.allowed, bad.msg)
	}
	return j, nil
}

// badJoin is an error in a join file, with its offset in bytes.
type badJoin struct {
	offset       int64
	msg, allowed string
}

const aJoin = `{"address": …, "key": …, "certificate": …, "coordinator": …}, as written by weir run --workers`

// parseJoin parses the contents of a join file and checks its values. Unknown and repeated keys are errors.
func parseJoin(data []byte) (*Join, *badJoin) {
	j := &Join{}
	fields := map[string]*string{"address": &j.Address, "key": &j.Key, "certificate": &j.Certificate,
		"credentials": &j.Credentials, "coordinator": &j.Coordinator}
	d := json.NewDecoder(bytes.NewReader(data))
	next := func() (json.Token, int64, *badJoin) {
		at := d.InputOffset()
		for at < int64(len(data)) && strings.IndexByte(" \t\r\n:,", data[at]) >= 0 {
			at++
		}
		t, err := d.Token()
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, 0, &badJoin{max(syntax.Offset-1, 0), "the file is not JSON", aJoin}
		case err != nil: // the file ends
			return nil, 0, &badJoin{int64(len(data)), "the file ends here", aJoin}
		}
		return t, at, nil
	}
	t, at, bad := next()
	if bad == nil && t != json.Delim('{') {
		bad = &badJoin{at, "the file is not a JSON object", aJoin}
	}
	seen, places := map[string]bool{}, map[string]int64{}
	for bad == nil && d.More() {
		var key, value json.Token
		if key, at, bad = next(); bad != nil {
			break
		}
		name, _ := key.(string)
		to := fields[name]
		switch {
		case to == nil:
			return nil, &badJoin{at, fmt.Sprintf("unknown key %q", name),
				"address, key, certificate, coordinator, credentials"}
		case seen[name]:
			return nil, &badJoin{at, name + " occurs twice", ""}
		}
		seen[name] = true
		if value, at, bad = next(); bad != nil {
			break
		}
		text, ok := value.(string)
		if !ok {
			return nil, &badJoin{at, name + " is not a string", ""}
		}
		*to, places[name] = text, at
	}
	if bad == nil {
		_, at, bad = next()
	}
	if bad != nil {
		return nil, bad
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &badJoin{at + 1, "more data follow the object; one object is allowed", ""}
	}
	if name, err := j.findError(); err != nil {
		return nil, &badJoin{places[name], err.Error(), ""}
	}
	return j, nil
}

// findPosition returns the line and column of a byte offset, both from 1. The column counts characters. An offset
// outside the data counts as the nearest end.
func findPosition(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset, 0), int64(len(data)))]
	return 1 + bytes.Count(before, []byte("\n")), len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
}

// findError returns the first invalid field and the reason, or "" and nil. The error does not contain the field's
// value.
func (j *Join) findError() (field string, err error) {
	for one := range strings.SplitSeq(j.Address, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case j.Address == "":
			return "address", errors.New("the address is missing; allowed: nats://HOST:PORT, tls://HOST:PORT")
		case err != nil || u.Hostname() == "":
			return "address", errors.New("the address is not a URL; allowed: nats://HOST:PORT, tls://HOST:PORT")
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			return "address", fmt.Errorf("the address has the unknown scheme %q; allowed: nats, tls, ws, wss", u.Scheme)
		}
	}
	if j.Key != "" {
		if _, err := withSeed(j.Key); err != nil {
			return "key", errors.New("the key is not the seed of a user's nkey")
		}
	}
	if j.Key != "" && j.Coordinator == "" {
		return "key", errors.New("the coordinator is missing, so another version of weir wrote the file; use the file of " +
			"this version")
	}
	if j.Coordinator != "" && !nkeys.IsValidPublicUserKey(j.Coordinator) {
		return "coordinator", errors.New("the coordinator is not the public key of a user's nkey")
	}
	if j.Certificate != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(j.Certificate)) {
		return "certificate", errors.New("the certificate is not valid PEM")
	}
	if j.Credentials != "" {
		if _, err := withCredentials(j.Credentials); err != nil {
			return "credentials", fmt.Errorf("%s: %w", j.Credentials, err)
		}
	}
	return "", nil
}

// Check returns an error for the first invalid field, or nil. The error contains no secret.
func (j *Join) Check() error {
	_, err := j.findError()
	return err
}

// withCredentials returns a connection option for the user of a credentials file: one with a JWT, or with the seed of
// an nkey.
func withCredentials(name string) (nats.Option, error) {
	data, err := document.ReadFile(name, 1<<20)
	if err != nil {
		return nil, document.UnwrapPathError(err)
	}
	if _, err := nkeys.ParseDecoratedUserNKey(data); err != nil {
		return nil, errors.New("the file has no user key; allowed: a credentials file (.creds), or the seed of an nkey")
	}
	if bytes.Contains(data, []byte("BEGIN NATS USER JWT")) {
		return nats.UserCredentials(name), nil
	}
	return nats.NkeyOptionFromSeed(name)
}

// write writes the join file with mode 0600.
func (j *Join) write(name string) error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(name, append(data, '\n'))
}

// joinFile returns the name of the join file in a folder of keys.
func joinFile(keys string) string { return filepath.Join(keys, "join.json") }

// WriteJoinFile writes the join file into the folder keys before an experiment begins, so that workers can wait for it.
// It creates the folder and its secrets if they are missing. Port 0 selects a free port, or the port of an existing
// join file. The server listens at the returned address only once an experiment with it as Config.Listen begins.
func WriteJoinFile(listen, keys string) (file, address string, err error) {
	host, err := ReachableHost(listen)
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return "", "", err
	}
	if before, err := ReadJoin(joinFile(keys)); err == nil && strings.HasSuffix(listen, ":0") {
		if at := strings.TrimPrefix(before.Address, "nats://"); strings.HasPrefix(at, strings.TrimSuffix(listen, "0")) {
			listen = at
		}
	}
	l, err := bind.Listen(listen)
	if err != nil {
		return "", "", err
	}
	address = l.Addr().String()
	l.Close()
	secrets, err := openSecrets(keys, host)
	if err != nil {
		return "", "", err
	}
	file = joinFile(keys)
	return file, address, (&Join{Address: "nats://" + address, Key: secrets.Worker,
		Certificate: string(secrets.authority), Coordinator: publicKey(secrets.Coordinator)}).write(file)
}

// formatAddress returns the addresses without user names and passwords, separated by commas. It drops invalid ones.
func (j *Join) formatAddress() string {
	var all []string
	for one := range strings.SplitSeq(j.Address, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil {
			all = append(all, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join(all, ",")
}

// serverWait limits the first connection attempts to an existing server that is restarting.
const serverWait = 5 * time.Second

// connect connects to the server and reconnects when the connection breaks. With Key, the server is a coordinator's,
// which may start later. An existing server must be up, accept the credentials and have JetStream, else connect returns
// an error. It tries again for serverWait while that server restarts.
func (j *Join) connect(name string, options ...nats.Option) (*nats.Conn, error) {
	if err := j.Check(); err != nil {
		return nil, err
	}
	own := j.Key != ""
	options = append([]nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond), nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2), nats.Timeout(5 * time.Second), nats.ReconnectBufSize(-1),
		nats.RetryOnFailedConnect(own), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // failed operations are retried
	}, options...)
	if own {
		o, err := withSeed(j.Key)
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	if j.Credentials != "" {
		o, err := withCredentials(j.Credentials)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.Credentials, err)
		}
		options = append(options, o)
	}
	if j.Certificate != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(j.Certificate))
		options = append(options, nats.Secure(&tls.Config{RootCAs: pool, ServerName: certifiedName,
			MinVersion: tls.VersionTLS13}))
	}
	conn, err := nats.Connect(j.Address, options...)
	for begun := time.Now(); isRestarting(err) && time.Since(begun) < serverWait; {
		time.Sleep(250 * time.Millisecond)
		conn, err = nats.Connect(j.Address, options...)
	}
	if err == nil && !own {
		if err = hasJetStream(conn); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return nil, j.explainError(err)
	}
	return conn, nil
}

// isRestarting reports whether a connection failed as it does while a server stops or starts: the server refuses or
// breaks it.
func isRestarting(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF)
}

// explainError returns a server's error with the address and, for rejected credentials, the cause.
func (j *Join) explainError(err error) error {
	if errors.Is(err, nats.ErrAuthorization) {
		switch {
		case j.Key != "":
			err = errors.New("it rejects this worker, because the file of --join is of another sweep or outdated; copy the " +
				"current file")
		case j.Credentials != "":
			err = fmt.Errorf("it rejects the credentials in %s", j.Credentials)
		default:
			err = errors.New("it requires credentials (--creds FILE)")
		}
	}
	return fmt.Errorf("the server %s: %w", j.formatAddress(), err)
}

// hasJetStream returns an error if the server has no JetStream for this user. A server that does not answer the
// question passes: the user may not be allowed to ask.
func hasJetStream(conn *nats.Conn) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	none := false
	for range 4 { // a server sets up an account when its first user arrives, and rejects others until then
		_, err = js.AccountInfo(ctx)
		none = errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, nats.ErrNoResponders)
		if !none {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	switch {
	case none:
		return errors.New("it has no JetStream, or not for this user; enable JetStream, because workers need it")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errors.New("it has no JetStream for this user's account; enable JetStream, because workers need it")
	}
	return nil
}
