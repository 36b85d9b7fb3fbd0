-- 0195;

CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE attempts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	task INTEGER NOT NULL,
	item INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	worker VARCHAR(100),
	outcome VARCHAR(16) NOT NULL,
	started_at FLOAT,
	ended_at FLOAT NOT NULL,
	error_code VARCHAR(100),
	error_message TEXT,
	error_detail TEXT,
	model VARCHAR(200),
	usage TEXT
, error_sentence TEXT);

CREATE INDEX attempts_item ON attempts (item);

CREATE INDEX attempts_task ON attempts (task);

CREATE TABLE blobs (
	"key" VARCHAR(300) NOT NULL,
	task INTEGER NOT NULL,
	item INTEGER,
	lease INTEGER,
	name TEXT NOT NULL,
	size BIGINT NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT pk_blobs PRIMARY KEY ("key")
);

CREATE INDEX blobs_task ON blobs (task);

CREATE TABLE duties (
	name VARCHAR(100) NOT NULL,
	ran_at FLOAT NOT NULL,
	CONSTRAINT pk_duties PRIMARY KEY (name)
);

CREATE TABLE emissions (
	item INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	position INTEGER NOT NULL,
	task INTEGER NOT NULL,
	body TEXT NOT NULL,
	CONSTRAINT pk_emissions PRIMARY KEY (item, lease, position)
);

CREATE INDEX emissions_task ON emissions (task, item, position);

CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	task INTEGER NOT NULL,
	at FLOAT NOT NULL,
	actor VARCHAR(100) NOT NULL,
	verb VARCHAR(16) NOT NULL,
	source VARCHAR(16),
	target VARCHAR(16),
	stage VARCHAR(63),
	item VARCHAR(200),
	reason TEXT
, reason_sentence TEXT);

CREATE INDEX events_task ON events (task, id);

CREATE TABLE item_data (
	item INTEGER NOT NULL,
	input TEXT,
	output TEXT,
	error_code VARCHAR(100),
	error_message TEXT,
	error_detail TEXT,
	model VARCHAR(200),
	usage TEXT,
	progress FLOAT,
	message TEXT,
	options TEXT,
	memory TEXT,
	waiting_since FLOAT,
	made_by VARCHAR(100),
	previous TEXT,
	previous_model VARCHAR(200), generation INTEGER, hold TEXT, handed_back INTEGER, troubled_since FLOAT, troubled_by VARCHAR(63), crash_progress FLOAT, crash_memory INTEGER, forgiven_crashes INTEGER, decided INTEGER, error_sentence TEXT, hold_sentence TEXT,
	CONSTRAINT pk_item_data PRIMARY KEY (item)
);

CREATE TABLE items (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	task INTEGER NOT NULL,
	stage VARCHAR(63) NOT NULL,
	seq INTEGER NOT NULL,
	"key" VARCHAR(200),
	state VARCHAR(8) NOT NULL,
	lease INTEGER NOT NULL,
	worker VARCHAR(100),
	available_at FLOAT,
	deadline_at FLOAT,
	attempts SMALLINT NOT NULL,
	failures SMALLINT NOT NULL,
	crashes SMALLINT NOT NULL,
	started_at FLOAT,
	finished_at FLOAT, degraded TEXT, settled_by VARCHAR(100), accepted INTEGER, degraded_sentence TEXT,
	CONSTRAINT ck_items_running_has_worker CHECK ((state = 'running') = (worker IS NOT NULL)),
	CONSTRAINT ck_items_settled_has_time CHECK ((state IN ('done', 'failed')) = (finished_at IS NOT NULL)),
	CONSTRAINT ck_items_timed_has_time CHECK ((state IN ('retrying', 'waiting')) = (available_at IS NOT NULL)),
	CONSTRAINT ck_items_state_known CHECK (state IN ('pending', 'running', 'retrying', 'waiting', 'done', 'failed')),
	CONSTRAINT ck_items_leased_once_run CHECK (state NOT IN ('running', 'done') OR lease > 0)
);

CREATE UNIQUE INDEX items_key ON items (task, stage, "key") WHERE "key" IS NOT NULL;

CREATE UNIQUE INDEX items_order ON items (task, stage, seq);

CREATE INDEX items_progress ON items (task, stage, state);

CREATE INDEX items_running ON items (worker, deadline_at) WHERE state = 'running';

CREATE INDEX items_timed ON items (available_at, task) WHERE state IN ('retrying', 'waiting');

CREATE TABLE limits (
	name VARCHAR(200) NOT NULL,
	size INTEGER NOT NULL,
	CONSTRAINT pk_limits PRIMARY KEY (name)
);

CREATE TABLE permits (
	item INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	CONSTRAINT pk_permits PRIMARY KEY (item)
);

CREATE INDEX permits_name ON permits (name);

CREATE TABLE task_tags (
	tag VARCHAR(100) NOT NULL,
	task INTEGER NOT NULL,
	CONSTRAINT pk_task_tags PRIMARY KEY (tag, task)
);

CREATE INDEX task_tags_task ON task_tags (task);

CREATE TABLE tasks (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	id VARCHAR(32) NOT NULL,
	pipeline VARCHAR(63) NOT NULL,
	title TEXT NOT NULL,
	state VARCHAR(16) NOT NULL,
	stage VARCHAR(63) NOT NULL,
	"plan" TEXT NOT NULL,
	input TEXT,
	options TEXT,
	extra TEXT,
	owner VARCHAR(200) NOT NULL,
	priority INTEGER NOT NULL,
	"key" VARCHAR(200),
	retry_limit INTEGER,
	ending VARCHAR(16),
	reason TEXT,
	error_code VARCHAR(100),
	error_message TEXT,
	missing INTEGER DEFAULT '0' NOT NULL,
	created_at FLOAT NOT NULL,
	updated_at FLOAT NOT NULL,
	started_at FLOAT,
	finished_at FLOAT, generation INTEGER DEFAULT '0' NOT NULL, fingerprint VARCHAR(64), lineage TEXT, resetting VARCHAR(32), decided INTEGER, reason_sentence TEXT, error_sentence TEXT, sample INTEGER, start_at FLOAT, notify TEXT, parent INTEGER, parent_item INTEGER, by_parent BOOLEAN, closed_at FLOAT,
	CONSTRAINT ck_tasks_finished_has_time CHECK ((state IN ('completed', 'partial', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
	CONSTRAINT ck_tasks_ending_known CHECK (ending IS NULL OR ending IN ('failed', 'cancelled')),
	CONSTRAINT ck_tasks_state_known CHECK (state IN ('active', 'waiting', 'paused', 'completed', 'partial', 'failed', 'cancelled')),
	CONSTRAINT uq_tasks_id UNIQUE (id)
);

CREATE INDEX tasks_active ON tasks (priority DESC, number) WHERE state = 'active';

CREATE INDEX tasks_finished ON tasks (finished_at);

CREATE UNIQUE INDEX tasks_key ON tasks (owner, "key");

CREATE INDEX tasks_owner ON tasks (owner, number);

CREATE INDEX tasks_pipeline ON tasks (pipeline, number);

CREATE INDEX tasks_state ON tasks (state, number);

CREATE TABLE answers (
	"key" VARCHAR(64) NOT NULL,
	body TEXT,
	asked_by VARCHAR(100),
	worker VARCHAR(100),
	asked_until FLOAT,
	answered_at FLOAT,
	CONSTRAINT pk_answers PRIMARY KEY ("key")
);

CREATE INDEX answers_age ON answers (answered_at);

CREATE TABLE calls (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	task INTEGER NOT NULL,
	item INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	at FLOAT NOT NULL,
	provider VARCHAR(63) NOT NULL,
	model VARCHAR(200) NOT NULL,
	outcome VARCHAR(100) NOT NULL,
	input_tokens INTEGER,
	output_tokens INTEGER,
	cached_tokens INTEGER,
	cost FLOAT,
	seconds FLOAT NOT NULL,
	answer VARCHAR(64),
	raw TEXT
, purpose VARCHAR(16), lane VARCHAR(16), reserved BIGINT, scopes TEXT);

CREATE INDEX calls_answer ON calls (answer);

CREATE INDEX calls_item ON calls (item);

CREATE INDEX calls_task ON calls (task);

CREATE TABLE tokens (
	name VARCHAR(100) NOT NULL,
	hash VARCHAR(64) NOT NULL,
	owner VARCHAR(200),
	role VARCHAR(16) NOT NULL,
	created_at FLOAT NOT NULL,
	expires_at FLOAT,
	CONSTRAINT pk_tokens PRIMARY KEY (name),
	CONSTRAINT uq_tokens_hash UNIQUE (hash)
);

CREATE TABLE revisions (
	revision VARCHAR(32) NOT NULL,
	compatible_from VARCHAR(32) NOT NULL,
	upgraded_at FLOAT NOT NULL,
	CONSTRAINT pk_revisions PRIMARY KEY (revision)
);

CREATE TABLE workers (
	id VARCHAR(100) NOT NULL,
	host TEXT NOT NULL,
	pid INTEGER NOT NULL,
	serves TEXT NOT NULL,
	concurrency INTEGER NOT NULL,
	running INTEGER NOT NULL,
	stopping BOOLEAN NOT NULL,
	done INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	busy_seconds FLOAT NOT NULL,
	started_at FLOAT NOT NULL,
	seen_at FLOAT NOT NULL,
	revision VARCHAR(32), swept_at FLOAT,
	CONSTRAINT pk_workers PRIMARY KEY (id)
);

CREATE TRIGGER tasks_legal_move BEFORE UPDATE OF state ON tasks WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'active' AND NEW.state = 'cancelled' OR OLD.state = 'active' AND NEW.state = 'completed' OR OLD.state = 'active' AND NEW.state = 'failed' OR OLD.state = 'active' AND NEW.state = 'partial' OR OLD.state = 'active' AND NEW.state = 'paused' OR OLD.state = 'active' AND NEW.state = 'waiting' OR OLD.state = 'cancelled' AND NEW.state = 'active' OR OLD.state = 'cancelled' AND NEW.state = 'waiting' OR OLD.state = 'completed' AND NEW.state = 'active' OR OLD.state = 'completed' AND NEW.state = 'waiting' OR OLD.state = 'failed' AND NEW.state = 'active' OR OLD.state = 'failed' AND NEW.state = 'waiting' OR OLD.state = 'partial' AND NEW.state = 'active' OR OLD.state = 'partial' AND NEW.state = 'cancelled' OR OLD.state = 'partial' AND NEW.state = 'waiting' OR OLD.state = 'paused' AND NEW.state = 'active' OR OLD.state = 'paused' AND NEW.state = 'cancelled' OR OLD.state = 'paused' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'active' OR OLD.state = 'waiting' AND NEW.state = 'cancelled') BEGIN SELECT RAISE(ABORT, 'illegal move in tasks'); END;

CREATE INDEX tasks_serving ON tasks (pipeline, stage, priority DESC, number, owner) WHERE state = 'active';

CREATE INDEX tasks_updated ON tasks (updated_at, number);

CREATE INDEX items_degraded ON items (task, stage) WHERE degraded IS NOT NULL;

CREATE TABLE drafts (
	task INTEGER NOT NULL,
	stage VARCHAR(63) NOT NULL,
	kind VARCHAR(8) NOT NULL,
	token VARCHAR(100) NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_drafts PRIMARY KEY (task, stage)
);

CREATE TABLE resets (
	task INTEGER NOT NULL,
	token VARCHAR(32) NOT NULL,
	options TEXT,
	at FLOAT NOT NULL,
	CONSTRAINT pk_resets PRIMARY KEY (task)
);

CREATE TABLE reset_items (
	item INTEGER NOT NULL,
	task INTEGER NOT NULL,
	token VARCHAR(32) NOT NULL,
	kind VARCHAR(8) NOT NULL,
	lease INTEGER,
	CONSTRAINT pk_reset_items PRIMARY KEY (item)
);

CREATE INDEX reset_items_task ON reset_items (task, item);

CREATE TABLE deleted_tasks (
	task INTEGER NOT NULL,
	deleted_at FLOAT NOT NULL,
	CONSTRAINT pk_deleted_tasks PRIMARY KEY (task)
);

CREATE TABLE externals (
	item INTEGER NOT NULL,
	name VARCHAR(63) NOT NULL,
	task INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	"key" VARCHAR(400) NOT NULL,
	state VARCHAR(16) NOT NULL,
	job TEXT,
	worker VARCHAR(100),
	intended_at FLOAT NOT NULL,
	updated_at FLOAT NOT NULL, wake VARCHAR(64),
	CONSTRAINT pk_externals PRIMARY KEY (item, name)
);

CREATE INDEX externals_task ON externals (task);

CREATE TABLE decisions (
	task INTEGER NOT NULL,
	number INTEGER NOT NULL,
	stage VARCHAR(63) NOT NULL,
	item VARCHAR(200) NOT NULL,
	part VARCHAR(200) NOT NULL,
	verdict VARCHAR(8) NOT NULL,
	value TEXT,
	actor VARCHAR(100) NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_decisions PRIMARY KEY (task, number),
	CONSTRAINT ck_decisions_verdict_known CHECK (verdict IN ('accept', 'reject', 'replace', 'undo'))
);

CREATE INDEX decisions_part ON decisions (task, stage, item, part, number);

CREATE TRIGGER items_legal_move BEFORE UPDATE OF state ON items WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'done' AND NEW.state = 'pending' OR OLD.state = 'done' AND NEW.state = 'waiting' OR OLD.state = 'failed' AND NEW.state = 'pending' OR OLD.state = 'pending' AND NEW.state = 'running' OR OLD.state = 'retrying' AND NEW.state = 'pending' OR OLD.state = 'retrying' AND NEW.state = 'running' OR OLD.state = 'running' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'pending' OR OLD.state = 'running' AND NEW.state = 'retrying' OR OLD.state = 'running' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'pending' OR OLD.state = 'waiting' AND NEW.state = 'running') BEGIN SELECT RAISE(ABORT, 'illegal move in items'); END;

CREATE TABLE budgets (
	scope VARCHAR(300) NOT NULL,
	task INTEGER,
	cap BIGINT NOT NULL,
	spent BIGINT DEFAULT '0' NOT NULL,
	reserved BIGINT DEFAULT '0' NOT NULL,
	unknown BIGINT DEFAULT '0' NOT NULL,
	unpriced INTEGER DEFAULT '0' NOT NULL,
	strict BOOLEAN DEFAULT 0 NOT NULL,
	allow_unknown BOOLEAN DEFAULT 0 NOT NULL,
	open_until FLOAT,
	set_at FLOAT NOT NULL,
	CONSTRAINT pk_budgets PRIMARY KEY (scope)
);

CREATE TABLE usage_history (
	pipeline VARCHAR(63) NOT NULL,
	provider VARCHAR(63) NOT NULL,
	model VARCHAR(200) NOT NULL,
	bucket INTEGER NOT NULL,
	calls BIGINT NOT NULL,
	cost BIGINT NOT NULL,
	input_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL,
	guessed_tokens BIGINT NOT NULL,
	CONSTRAINT pk_usage_history PRIMARY KEY (pipeline, provider, model, bucket)
);

CREATE TABLE rate_limits (
	"key" VARCHAR(300) NOT NULL,
	dimension VARCHAR(16) NOT NULL,
	configured FLOAT,
	learned FLOAT,
	level FLOAT NOT NULL,
	rate FLOAT NOT NULL,
	burst FLOAT NOT NULL,
	granted FLOAT NOT NULL,
	clean INTEGER NOT NULL,
	refusals INTEGER NOT NULL,
	updated_at FLOAT NOT NULL,
	closed_until FLOAT,
	closed_by VARCHAR(16),
	CONSTRAINT pk_rate_limits PRIMARY KEY ("key", dimension)
);

CREATE TABLE rate_limit_holders (
	"key" VARCHAR(300) NOT NULL,
	holder VARCHAR(100) NOT NULL,
	held INTEGER NOT NULL,
	waiting INTEGER NOT NULL,
	until FLOAT NOT NULL,
	CONSTRAINT pk_rate_limit_holders PRIMARY KEY ("key", holder)
);

CREATE TABLE batches (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name VARCHAR(32) NOT NULL,
	provider VARCHAR(63) NOT NULL,
	model VARCHAR(200) NOT NULL,
	state VARCHAR(16) NOT NULL,
	job VARCHAR(200),
	questions INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	answered INTEGER DEFAULT '0' NOT NULL,
	failed INTEGER DEFAULT '0' NOT NULL,
	looks INTEGER DEFAULT '0' NOT NULL,
	created_at FLOAT NOT NULL,
	intended_at FLOAT,
	look_at FLOAT NOT NULL,
	ended_at FLOAT,
	wanted_by FLOAT,
	cancel_at FLOAT,
	worker VARCHAR(100),
	held_until FLOAT,
	code VARCHAR(100),
	reason TEXT,
	reason_sentence TEXT, read_at FLOAT,
	CONSTRAINT ck_batches_state_known CHECK (state IN ('sending', 'running', 'fetching', 'done', 'failed')),
	CONSTRAINT uq_batches_name UNIQUE (name)
);

CREATE INDEX batches_open ON batches (look_at) WHERE state IN ('sending', 'running', 'fetching');

CREATE TABLE batch_members (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	task INTEGER NOT NULL,
	item INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	"key" VARCHAR(64) NOT NULL,
	provider VARCHAR(63) NOT NULL,
	model VARCHAR(200) NOT NULL,
	state VARCHAR(16) NOT NULL,
	batch INTEGER,
	request TEXT,
	bytes INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	tries INTEGER DEFAULT '0' NOT NULL,
	at FLOAT NOT NULL,
	wanted_by FLOAT,
	reserved BIGINT,
	scopes TEXT,
	code VARCHAR(100),
	reason TEXT,
	reason_sentence TEXT, purpose VARCHAR(16),
	CONSTRAINT ck_batch_members_state_known CHECK (state IN ('collected', 'sent', 'answered', 'failed', 'live'))
);

CREATE UNIQUE INDEX batch_members_item ON batch_members (item, "key");

CREATE INDEX batch_members_key ON batch_members ("key");

CREATE UNIQUE INDEX batch_members_sent ON batch_members ("key") WHERE state = 'sent';

CREATE INDEX batch_members_batch ON batch_members (batch);

CREATE INDEX batch_members_task ON batch_members (task);

CREATE INDEX batch_members_collected ON batch_members (provider, model) WHERE state = 'collected';

CREATE TRIGGER batches_legal_move BEFORE UPDATE OF state ON batches WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'fetching' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'fetching' OR OLD.state = 'sending' AND NEW.state = 'done' OR OLD.state = 'sending' AND NEW.state = 'failed' OR OLD.state = 'sending' AND NEW.state = 'running') BEGIN SELECT RAISE(ABORT, 'illegal move in batches'); END;

CREATE TRIGGER batch_members_legal_move BEFORE UPDATE OF state ON batch_members WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'collected' AND NEW.state = 'answered' OR OLD.state = 'collected' AND NEW.state = 'failed' OR OLD.state = 'collected' AND NEW.state = 'live' OR OLD.state = 'collected' AND NEW.state = 'sent' OR OLD.state = 'live' AND NEW.state = 'answered' OR OLD.state = 'sent' AND NEW.state = 'answered' OR OLD.state = 'sent' AND NEW.state = 'collected' OR OLD.state = 'sent' AND NEW.state = 'failed' OR OLD.state = 'sent' AND NEW.state = 'live') BEGIN SELECT RAISE(ABORT, 'illegal move in batch_members'); END;

CREATE TABLE templates (
	kind VARCHAR(63) NOT NULL,
	name VARCHAR(100) NOT NULL,
	version INTEGER NOT NULL,
	body TEXT NOT NULL,
	note TEXT NOT NULL,
	actor VARCHAR(100) NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_templates PRIMARY KEY (kind, name, version)
);

CREATE TABLE template_uses (
	task INTEGER NOT NULL,
	kind VARCHAR(63) NOT NULL,
	name VARCHAR(100) NOT NULL,
	version INTEGER NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_template_uses PRIMARY KEY (task, kind, name, version)
);

CREATE INDEX template_uses_name ON template_uses (kind, name, task);

CREATE TABLE file_places (
	address VARCHAR(500) NOT NULL,
	swept_to VARCHAR(300) NOT NULL,
	added_at FLOAT NOT NULL,
	CONSTRAINT pk_file_places PRIMARY KEY (address)
);

CREATE TABLE hints (
	id VARCHAR(100) NOT NULL,
	carrier VARCHAR(20) NOT NULL,
	pipeline VARCHAR(63) NOT NULL,
	stage VARCHAR(63) NOT NULL,
	sent_at FLOAT NOT NULL,
	begun_at FLOAT,
	worker VARCHAR(100),
	CONSTRAINT pk_hints PRIMARY KEY (id)
);

CREATE TABLE unstopped (
	worker VARCHAR(100) NOT NULL,
	item INTEGER NOT NULL,
	lease INTEGER NOT NULL,
	task INTEGER NOT NULL,
	stage VARCHAR(63) NOT NULL,
	"key" TEXT NOT NULL,
	since_at FLOAT NOT NULL,
	CONSTRAINT pk_unstopped PRIMARY KEY (worker, item, lease)
);

CREATE TABLE schedules (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	name VARCHAR(100) NOT NULL,
	owner VARCHAR(200) NOT NULL,
	cron VARCHAR(200) NOT NULL,
	zone VARCHAR(100) NOT NULL,
	pipeline VARCHAR(63) NOT NULL,
	wanted TEXT NOT NULL,
	overlap VARCHAR(16) NOT NULL,
	catch_up VARCHAR(16) NOT NULL,
	paused BOOLEAN NOT NULL,
	next_at FLOAT,
	queued_at FLOAT,
	actor VARCHAR(100) NOT NULL,
	created_at FLOAT NOT NULL,
	CONSTRAINT uq_schedules_name UNIQUE (name)
);

CREATE TABLE schedule_runs (
	schedule INTEGER NOT NULL,
	due_at FLOAT NOT NULL,
	outcome VARCHAR(16) NOT NULL,
	task_id VARCHAR(32),
	reason TEXT,
	reason_sentence TEXT,
	actor VARCHAR(100) NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_schedule_runs PRIMARY KEY (schedule, due_at)
);

CREATE INDEX tasks_start ON tasks (start_at) WHERE start_at IS NOT NULL;

CREATE INDEX externals_wake ON externals (wake) WHERE wake IS NOT NULL;

CREATE TABLE webhooks (
	name VARCHAR(63) NOT NULL,
	url TEXT NOT NULL,
	events TEXT NOT NULL,
	pipeline VARCHAR(63),
	owner VARCHAR(200),
	actor VARCHAR(100) NOT NULL,
	created_at FLOAT NOT NULL,
	disabled_at FLOAT,
	disabled_because TEXT,
	CONSTRAINT pk_webhooks PRIMARY KEY (name)
);

CREATE TABLE credit_accounts (
	owner VARCHAR(200) NOT NULL,
	balance BIGINT NOT NULL,
	outside BOOLEAN NOT NULL,
	opened_at FLOAT NOT NULL,
	CONSTRAINT pk_credit_accounts PRIMARY KEY (owner),
	CONSTRAINT ck_credit_accounts_never_below_zero CHECK (balance >= 0 OR outside)
);

CREATE TABLE credit_entries (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	owner VARCHAR(200) NOT NULL,
	kind VARCHAR(16) NOT NULL,
	amount BIGINT NOT NULL,
	task VARCHAR(32) NOT NULL,
	item VARCHAR(200) NOT NULL,
	generation INTEGER NOT NULL,
	actor VARCHAR(100) NOT NULL,
	reason TEXT,
	reason_sentence TEXT,
	"key" VARCHAR(200),
	at FLOAT NOT NULL,
	CONSTRAINT uq_credit_entries_task UNIQUE (task, item, kind, generation)
);

CREATE INDEX credit_entries_owner ON credit_entries (owner, id);

CREATE TRIGGER credit_entries_no_update BEFORE UPDATE ON credit_entries BEGIN SELECT RAISE(ABORT, 'credit_entries is append-only'); END;

CREATE TRIGGER credit_entries_no_delete BEFORE DELETE ON credit_entries BEGIN SELECT RAISE(ABORT, 'credit_entries is append-only'); END;

CREATE TABLE stage_durations (
	pipeline VARCHAR(63) NOT NULL,
	stage VARCHAR(63) NOT NULL,
	recent TEXT NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_stage_durations PRIMARY KEY (pipeline, stage)
);

CREATE TABLE subtasks (
	item INTEGER NOT NULL,
	name VARCHAR(63) NOT NULL,
	task INTEGER NOT NULL,
	"key" VARCHAR(1000) NOT NULL,
	child INTEGER NOT NULL,
	child_id VARCHAR(32) NOT NULL,
	awaited BOOLEAN DEFAULT 0 NOT NULL,
	told BOOLEAN DEFAULT 0 NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_subtasks PRIMARY KEY (item, name)
);

CREATE INDEX subtasks_task ON subtasks (task);

CREATE INDEX subtasks_child ON subtasks (child);

CREATE TABLE gate_answers (
	task INTEGER NOT NULL,
	number INTEGER NOT NULL,
	stage VARCHAR(63) NOT NULL,
	answer TEXT NOT NULL,
	actor VARCHAR(100) NOT NULL,
	at FLOAT NOT NULL,
	CONSTRAINT pk_gate_answers PRIMARY KEY (task, number)
);

CREATE INDEX tasks_parent ON tasks (parent, number) WHERE parent IS NOT NULL;

CREATE INDEX tasks_open_children ON tasks (parent) WHERE parent IS NOT NULL AND state IN ('active', 'waiting', 'paused');

CREATE TABLE external_durations (
	name VARCHAR(200) NOT NULL,
	seconds FLOAT NOT NULL,
	count INTEGER NOT NULL,
	updated_at FLOAT NOT NULL,
	CONSTRAINT pk_external_durations PRIMARY KEY (name)
);

CREATE INDEX tasks_state_updated ON tasks (state, updated_at, number) WHERE updated_at IS NOT NULL;

INSERT INTO alembic_version (version_num) VALUES ('0195')
