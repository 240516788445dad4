package jetstream

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// A coordinator's server has two accounts, and only the coordinator's has JetStream. A worker's message to a service
// arrives in the coordinator's account with a reply subject that the server makes. The response returns as a message
// of the workers' account. A worker therefore cannot name a JetStream subject as its reply subject. The server itself
// does not check that a client may publish to its own reply subject.
const (
	coordinatorAccount = "COORDINATOR"
	workersAccount     = "WORKERS"
)

// services returns the subjects of the coordinator's account that workers may publish to: they take runs and
// acknowledge them, report, read experiments and send results.
func (s sweep) services() []string {
	return []string{askSubject, s.subject("hello"), s.subject("begun"), s.subject("far"),
		s.subject("input"), s.subject("part"), s.subject("done.*"), "$JS.ACK." + s.runStream() + ".>",
		"$JS.API.CONSUMER.MSG.NEXT." + s.runStream() + ".*"}
}

// streamsOut returns the subjects on which workers receive messages of the coordinator's account.
func (s sweep) streamsOut() []string { return []string{announceSubject, s.subject("wake")} }

// connectAccounts enables JetStream for the coordinator's account and gives the workers' account access to its
// services. The server has both accounts.
func (s sweep) connectAccounts(target *server.Server) error {
	coordinator, err := target.LookupAccount(coordinatorAccount)
	if err != nil {
		return fmt.Errorf("account %s: %w", coordinatorAccount, err)
	}
	workers, err := target.LookupAccount(workersAccount)
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
