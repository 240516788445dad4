package jetstream

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// A server of a coordinator has two accounts. Only the coordinator's has JetStream. A worker's message to one of the
// services goes to the coordinator's account with a reply subject that the server makes, and the answer comes back as a
// message of the workers' account. So no subject that a worker names for an answer is one of JetStream's: a server
// itself does not check whether a client may publish to the subject to which it has others answer.
const (
	coordinatorAccount = "COORDINATOR"
	workersAccount     = "WORKERS"
)

// services are the subjects that workers may publish to, which the coordinator's account serves: to take runs and
// acknowledge them, to report, to read experiments and to send results.
func (s sweep) services() []string {
	return []string{askSubject, s.subject("hello"), s.subject("begun"), s.subject("far"),
		s.subject("input"), s.subject("part"), s.subject("done.*"), "$JS.ACK." + s.runs() + ".>",
		"$JS.API.CONSUMER.MSG.NEXT." + s.runs() + ".*"}
}

// streamsOut are the subjects on which workers receive messages of the coordinator's account.
func (s sweep) streamsOut() []string { return []string{announceSubject, s.subject("wake")} }

// connectAccounts gives the coordinator's account JetStream, and the workers' account its services.
func (s sweep) connectAccounts(of *server.Server) error {
	coordinator, err := of.LookupAccount(coordinatorAccount)
	if err != nil {
		return fmt.Errorf("account %s: %w", coordinatorAccount, err)
	}
	workers, err := of.LookupAccount(workersAccount)
	if err != nil {
		return fmt.Errorf("account %s: %w", workersAccount, err)
	}
	if err := coordinator.EnableJetStream(nil, nil); err != nil {
		return fmt.Errorf("account %s: %w", coordinatorAccount, err)
	}
	only := []*server.Account{workers}
	for _, subject := range s.services() {
		if err := coordinator.AddServiceExport(subject, only); err != nil {
			return fmt.Errorf("service %s: %w", subject, err)
		}
		wait := coordinatorResponse
		if strings.HasPrefix(subject, "$JS.") || subject == s.subject("done.*") {
			wait = serverResponse
		}
		if err := coordinator.SetServiceExportResponseThreshold(subject, wait); err != nil {
			return fmt.Errorf("service %s: %w", subject, err)
		}
		if err := workers.AddServiceImport(coordinator, subject, subject); err != nil {
			return fmt.Errorf("service %s: %w", subject, err)
		}
	}
	for _, subject := range s.streamsOut() {
		if err := coordinator.AddStreamExport(subject, only); err != nil {
			return fmt.Errorf("stream %s: %w", subject, err)
		}
		if err := workers.AddStreamImport(coordinator, subject, ""); err != nil {
			return fmt.Errorf("stream %s: %w", subject, err)
		}
	}
	return nil
}
