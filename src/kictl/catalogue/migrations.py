"""The catalogue's schema, as the list of steps that made it."""

from __future__ import annotations

# Each step runs in one transaction together with the new user_version, while foreign keys are not enforced: a table
# that others refer to can be made anew. Steps that have been released never change.
STEPS: tuple[str, ...] = (
    """
    -- What manifest and evidence bodies are compressed against.
    CREATE TABLE dictionary (id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;

    CREATE TABLE kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    INSERT INTO kind (name) VALUES
      ('OperationSpec'), ('WorkloadCase'), ('WorkloadSuite'), ('SoftwareProject'), ('ImplementationRevision'),
      ('BenchmarkProtocol'), ('ExecutionEnvironment'), ('BenchmarkRun');

    -- Append-only by digest. `body` is the whole manifest as JSON, compressed.
    CREATE TABLE manifest (
      id INTEGER PRIMARY KEY,
      digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
      kind_id INTEGER NOT NULL REFERENCES kind,
      body BLOB NOT NULL
    ) STRICT;

    -- One event per import; finished_at is NULL while it runs and where it was interrupted.
    CREATE TABLE import (
      id INTEGER PRIMARY KEY,
      source TEXT NOT NULL,
      origin TEXT NOT NULL,
      selection TEXT NOT NULL,
      version TEXT NOT NULL,
      started_at TEXT NOT NULL,
      finished_at TEXT,
      snapshot_digest TEXT,
      catalog_digest TEXT,
      report TEXT
    ) STRICT;

    CREATE TABLE definition (
      id INTEGER PRIMARY KEY,
      source TEXT NOT NULL,
      external_id TEXT NOT NULL,
      name TEXT NOT NULL,
      UNIQUE (source, external_id)
    ) STRICT;
    CREATE INDEX definition_name ON definition (name);

    CREATE TABLE bounds (
      id INTEGER PRIMARY KEY,
      digest BLOB NOT NULL,
      is_dummy INTEGER NOT NULL,
      UNIQUE (digest, is_dummy)
    ) STRICT;
    CREATE TABLE bounds_case (
      bounds_id INTEGER NOT NULL REFERENCES bounds,
      position INTEGER NOT NULL,
      axes TEXT NOT NULL,
      baseline_ms REAL,
      sol_ms REAL,
      PRIMARY KEY (bounds_id, position)
    ) STRICT, WITHOUT ROWID;

    -- What a definition said from one import on; the latest is the current one.
    CREATE TABLE definition_version (
      id INTEGER PRIMARY KEY,
      definition_id INTEGER NOT NULL REFERENCES definition,
      import_id INTEGER NOT NULL REFERENCES import,
      operation_id INTEGER NOT NULL REFERENCES manifest,
      suite_id INTEGER NOT NULL REFERENCES manifest,
      bounds_id INTEGER NOT NULL REFERENCES bounds,
      facts_digest BLOB NOT NULL,
      facts BLOB NOT NULL
    ) STRICT;
    CREATE INDEX definition_version_latest ON definition_version (definition_id, id);

    CREATE TABLE cohort (
      id INTEGER PRIMARY KEY,
      definition_id INTEGER NOT NULL REFERENCES definition,
      comparison_key BLOB NOT NULL,
      gpu TEXT NOT NULL,
      stack TEXT,
      cases INTEGER NOT NULL,
      operation_id INTEGER NOT NULL REFERENCES manifest,
      suite_id INTEGER NOT NULL REFERENCES manifest,
      protocol_id INTEGER NOT NULL REFERENCES manifest,
      environment_id INTEGER NOT NULL REFERENCES manifest,
      UNIQUE (definition_id, comparison_key)
    ) STRICT;

    -- The present state of every submission; its source is that of its definition, and within a source its external
    -- id belongs to one definition. `run_id` is its last run, also where that is retracted.
    CREATE TABLE submission (
      id INTEGER PRIMARY KEY,
      external_id TEXT NOT NULL,
      definition_id INTEGER NOT NULL REFERENCES definition,
      author TEXT NOT NULL,
      gpu TEXT NOT NULL,
      stack TEXT,
      facts_digest BLOB NOT NULL,
      standing TEXT NOT NULL CHECK (standing IN ('current', 'retracted', 'ineligible')),
      unlisted INTEGER NOT NULL,
      reasons TEXT NOT NULL,
      cohort_id INTEGER REFERENCES cohort,
      run_id INTEGER REFERENCES manifest,
      latency_ns INTEGER,
      sol_score REAL,
      avg_speedup REAL,
      fast_1_count INTEGER,
      fast_1_total INTEGER,
      observed_at TEXT,
      UNIQUE (external_id, definition_id)
    ) STRICT;
    CREATE INDEX submission_ranking ON submission (cohort_id, standing, latency_ns);
    CREATE INDEX submission_definition ON submission (definition_id);
    CREATE INDEX submission_author ON submission (author);

    -- Some rows of one definition that an import saw for the first time or changed: a JSON list, compressed.
    CREATE TABLE evidence (
      id INTEGER PRIMARY KEY,
      import_id INTEGER NOT NULL REFERENCES import,
      definition_id INTEGER NOT NULL REFERENCES definition,
      body BLOB NOT NULL
    ) STRICT;

    -- Every state that a submission was ever seen in; `place` is its row's position in the evidence.
    CREATE TABLE observation (
      id INTEGER PRIMARY KEY,
      submission_id INTEGER NOT NULL REFERENCES submission,
      import_id INTEGER NOT NULL REFERENCES import,
      run_id INTEGER REFERENCES manifest,
      standing TEXT NOT NULL,
      unlisted INTEGER NOT NULL,
      reasons TEXT NOT NULL,
      evidence_id INTEGER REFERENCES evidence,
      place INTEGER,
      cohort_id INTEGER REFERENCES cohort,
      latency_ns INTEGER,
      observed_at TEXT
    ) STRICT;
    CREATE INDEX observation_submission ON observation (submission_id, id);
    CREATE INDEX observation_run ON observation (run_id);
    CREATE INDEX observation_import ON observation (import_id);
    CREATE INDEX observation_cohort ON observation (cohort_id, submission_id);

    -- One definition read by one import: its presence says that everything of it was committed.
    CREATE TABLE reading (
      import_id INTEGER NOT NULL REFERENCES import,
      definition_external_id TEXT NOT NULL,
      expected INTEGER,
      announced INTEGER,
      received INTEGER NOT NULL,
      complete INTEGER NOT NULL,
      problem TEXT,
      counts TEXT NOT NULL,
      PRIMARY KEY (import_id, definition_external_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE body (
      import_id INTEGER NOT NULL REFERENCES import,
      name TEXT NOT NULL,
      digest BLOB NOT NULL,
      PRIMARY KEY (import_id, name)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE quarantine (
      id INTEGER PRIMARY KEY,
      import_id INTEGER NOT NULL REFERENCES import,
      place TEXT NOT NULL,
      external_id TEXT,
      pointer TEXT NOT NULL,
      reason TEXT NOT NULL,
      facts BLOB
    ) STRICT;
    CREATE INDEX quarantine_import ON quarantine (import_id);

    CREATE TABLE drift (
      import_id INTEGER NOT NULL REFERENCES import,
      what TEXT NOT NULL,
      count INTEGER NOT NULL,
      example TEXT NOT NULL,
      PRIMARY KEY (import_id, what)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE note (
      id INTEGER PRIMARY KEY,
      run_digest BLOB NOT NULL,
      kind TEXT NOT NULL,
      text TEXT NOT NULL,
      written_at TEXT NOT NULL
    ) STRICT;
    CREATE INDEX note_run ON note (run_digest);
    """,
    """
    -- Manifests are found by the first bytes of their digests, in an index a third as large as one of whole digests
    -- (see `store.PREFIX`). What writes them looks for each first, so that they stay unique.
    CREATE TABLE manifest_2 (
      id INTEGER PRIMARY KEY,
      digest BLOB NOT NULL CHECK (length(digest) = 32),
      kind_id INTEGER NOT NULL REFERENCES kind,
      body BLOB NOT NULL
    ) STRICT;
    INSERT INTO manifest_2 SELECT id, digest, kind_id, body FROM manifest;
    DROP TABLE manifest;
    ALTER TABLE manifest_2 RENAME TO manifest;
    CREATE INDEX manifest_digest ON manifest (substr(digest, 1, 6));

    -- An import writes one definition at a time: in these indexes that is one place, not one for each author.
    DROP INDEX submission_definition;
    DROP INDEX submission_author;
    CREATE INDEX submission_author ON submission (definition_id, author);

    -- Only what is current is ranked. What a cohort held before is found by its definition. An index ends with the
    -- row's id anyway.
    DROP INDEX submission_ranking;
    CREATE INDEX submission_ranking ON submission (cohort_id) WHERE standing = 'current';
    DROP INDEX observation_cohort;
    DROP INDEX observation_submission;
    CREATE INDEX observation_submission ON observation (submission_id);
    """,
)
