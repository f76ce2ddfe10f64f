-- What grew old is removed in small batches: whoever refers to a message that goes is found without reading everything.
CREATE INDEX alerts_raw ON alerts (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX sightings_raw ON sightings (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX pending_revisions_raw ON pending_revisions (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX dead_letters_raw ON dead_letters (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX dead_letters_case ON dead_letters (case_id) WHERE case_id IS NOT NULL;
CREATE INDEX arrivals_raw ON arrivals (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX arrivals_dead_letter ON arrivals (dead_letter_id) WHERE dead_letter_id IS NOT NULL;
CREATE INDEX arrivals_hidden ON arrivals (received_at) WHERE case_id IS NULL;
CREATE INDEX raw_messages_received ON raw_messages (received_at);
CREATE INDEX cases_over ON cases (concluded_at) WHERE status IN ('concluded', 'failed', 'cancelled');
CREATE INDEX cases_suspects ON cases (severity, touched_at) WHERE status = 'queued' AND crashes >= 2;
